/** Formats numbers for reading. */

const DASH = "–";

/**
 * Whether a value is a number that can be shown.
 * @param {any} value
 */
export function isNumber(value) {
  return typeof value === "number" && Number.isFinite(value);
}

/**
 * A number with a true minus sign and separators of thousands.
 * @param {any} value
 * @param {number} [digits] After the point, at most.
 */
export function decimal(value, digits = 2) {
  if (!isNumber(value)) return value === null || value === undefined ? DASH : String(value);
  const rounded = Math.abs(value) < 0.5 * 10 ** -digits ? 0 : value;
  return rounded
    .toLocaleString("en-US", { maximumFractionDigits: digits, useGrouping: "min2" })
    .replace("-", "−");
}

/**
 * A number with exactly so many digits, so that columns line up.
 * @param {any} value
 * @param {number} digits
 */
export function fixed(value, digits) {
  if (!isNumber(value)) return decimal(value);
  const text = value.toFixed(digits);
  return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "−");
}

/**
 * A number with so many significant digits, and an exponent if it is small.
 * @param {any} value
 * @param {number} digits
 */
export function significant(value, digits) {
  if (!isNumber(value) || value === 0) return decimal(value);
  const size = Math.floor(Math.log10(Math.abs(value)));
  if (size >= -3) return decimal(value, Math.max(0, digits - 1 - size));
  const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
  return `${Number(mantissa)}e${exponent}`.replaceAll("-", "−");
}

/** @param {any} value A share, 0 to 1. @param {number} [digits] */
export function percent(value, digits = 0) {
  return isNumber(value) ? `${fixed(value * 100, digits)} %` : DASH;
}

/** @param {any} value A count. */
export function compact(value) {
  if (!isNumber(value)) return DASH;
  if (Math.abs(value) < 10000) return decimal(value, 0);
  const [size, unit] = [[1e9, "G"], [1e6, "M"], [1e3, "k"]].find(([least]) => Math.abs(value) >= least);
  return `${decimal(value / size, Math.abs(value / size) < 100 ? 1 : 0)} ${unit}`;
}

/** @param {any} value Seconds. */
export function duration(value) {
  if (!isNumber(value)) return DASH;
  if (value === 0) return "0 s";
  if (value < 0.0005) return `${decimal(value * 1e6, 0)} µs`;
  if (value < 1) return `${decimal(value * 1e3, value < 0.01 ? 1 : 0)} ms`;
  if (value < 120) return `${fixed(value, value < 10 ? 2 : 1)} s`;
  if (value < 7200) return `${decimal(value / 60, 1)} min`;
  return `${decimal(value / 3600, 1)} h`;
}

/** @param {{low: any, high: any} | null} interval @param {(value: any) => string} show */
export function range(interval, show) {
  if (!interval || !isNumber(interval.low)) return "";
  return `${show(interval.low)} to ${show(interval.high)}`;
}

/** @param {any} unix Seconds since 1970. */
export function moment(unix) {
  return isNumber(unix) && unix > 0 ? new Date(unix * 1000).toLocaleString() : "";
}

/** @param {number} count @param {string} noun */
export function counted(count, noun) {
  return `${decimal(count, 0)} ${noun}${count === 1 ? "" : "s"}`;
}

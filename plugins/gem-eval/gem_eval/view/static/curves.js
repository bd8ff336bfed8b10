/**
 * Curves by training step: means of runs with their bands, evaluations with intervals, and a cursor
 * that names the values of a step and leads to its episodes.
 */

import { el, fill, svg } from "./dom.js";
import { percent, significant } from "./format.js";
import { axes, sized } from "./plots.js";
import { shown } from "./text.js";

/**
 * @typedef {Array<[number, number]>} Points Steps and values.
 * @typedef {Array<[number, number, number]>} Ranges Steps, lower and upper ends.
 * @typedef {{label: string, kind: string, points: Points, say?: (step: number) => string,
 *   isFaint?: boolean, isMarked?: boolean, isMean?: boolean, band?: Ranges, whiskers?: Ranges}} Line
 * `kind` has the classes of its colour and its dashes; `say` is the text of a step's exact value,
 * empty without one.
 * @typedef {{step: number, isEvaluation: boolean, text: string, url: string,
 *   episodes: number}} Target
 * @typedef {{id: string, title: string, unit: string, bounds: [number, number] | null,
 *   first: number, last: number,
 *   lines: Line[], targets: Target[], show: (value: number) => string}} Chart
 */

const SMOOTHED_SHARE = 20;
const PAGE_SHARE = 10;

/** The step of each chart that the keyboard has chosen; a page that is drawn again keeps it. */
const chosenSteps = new Map();

/** How many steps the curves of so many steps are averaged over. @param {number} count */
export function reachOf(count) {
  return Math.floor(count / SMOOTHED_SHARE) | 1;
}

/**
 * The centred moving average; near the ends, the window shrinks on both sides.
 * @param {Points} points
 * @param {number} reach The length of the window, an odd number.
 * @returns {Points}
 */
export function smoothed(points, reach) {
  const sums = [0];
  for (const [, value] of points) sums.push(sums[sums.length - 1] + value);
  return points.map(([step, value], at) => {
    const side = Math.min((reach - 1) / 2, at, points.length - 1 - at);
    return [step, side ? (sums[at + side + 1] - sums[at - side]) / (2 * side + 1) : value];
  });
}

/**
 * The mean of runs at the steps that all of them have, and its interval of Student's t.
 * @param {Points[]} runs Two or more.
 * @param {Object<string, number>} quantiles Of Student's t, by the number of runs.
 * @returns {Ranges} With the mean as a fourth number.
 */
export function meanBand(runs, quantiles) {
  const [first, ...others] = runs;
  const places = others.map(() => 0);
  const count = runs.length;
  const band = [];
  for (const [step, value] of first) {
    const values = [value];
    for (const [at, points] of others.entries()) {
      while (places[at] < points.length && points[places[at]][0] < step) places[at] += 1;
      if (points[places[at]]?.[0] === step) values.push(points[places[at]][1]);
    }
    if (values.length < count) continue;
    const mean = values.reduce((sum, one) => sum + one, 0) / count;
    const squares = values.reduce((sum, one) => sum + (one - mean) ** 2, 0);
    const half = quantiles[count] * Math.sqrt(squares / (count - 1) / count);
    band.push([step, mean - half, mean + half, mean]);
  }
  return band;
}

/**
 * Of the points in each column of pixels: the first, the lowest, the highest and the last.
 * @template {number[]} Point
 * @param {Point[]} points Each a step and one or two values.
 * @param {(step: number) => number} x
 * @returns {Point[]}
 */
export function thinned(points, x) {
  const kept = [];
  for (let from = 0, to = 0; from < points.length; from = to) {
    const column = Math.round(x(points[from][0]));
    let [low, high] = [from, from];
    for (to = from; to < points.length && Math.round(x(points[to][0])) === column; to += 1) {
      if (points[to][1] < points[low][1]) low = to;
      if (points[to][points[to].length - 1] > points[high][points[high].length - 1]) high = to;
    }
    for (const at of [...new Set([from, low, high, to - 1])].sort((a, b) => a - b)) kept.push(points[at]);
  }
  return kept;
}

/**
 * The place of the nearest step in a list of points in the order of their steps.
 * @param {number[][]} points @param {number} step
 */
function nearest(points, step) {
  let [low, high] = [0, points.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][0] < step) low = middle + 1;
    else high = middle;
  }
  return low > 0 && step - points[low - 1][0] <= points[low][0] - step ? low - 1 : low;
}

/** The value at a step; undefined if there is none. @param {Points} points @param {number} step */
export function valueAtStep(points, step) {
  const [found, value] = points[nearest(points, step)] ?? [];
  return found === step ? value : undefined;
}

/**
 * The range of the values. Intervals of means are cut off: those of few runs would fill the plot.
 * @param {Chart} chart
 */
function rangeOf({ lines, bounds }) {
  if (bounds) return { low: bounds[0], high: bounds[1] };
  let [low, high] = [Infinity, -Infinity];
  for (const { points, whiskers, isMean } of lines) {
    for (const point of isMean || !whiskers ? points : [...points, ...whiskers]) {
      low = Math.min(low, point[1]);
      high = Math.max(high, point[point.length - 1]);
    }
  }
  if (low > 0 && low < high * 0.6) low = 0;
  const room = (high - low || Math.abs(high) || 1) * 0.05;
  return { low: low === 0 ? 0 : low - room, high: high + room };
}

/** Labels of an axis with small numbers are all written with exponents. @param {number} high */
function tickText(high) {
  return (value) => (high < 0.002 && value !== 0
    ? value.toExponential().replaceAll("-", "−") : significant(value, 3));
}

/** @param {Array<number[]>} points @param {(step: number) => number} x @param {(value: number) => number} y */
function pathOf(points, x, y) {
  return points.map(([step, value], at) => `${at ? "L" : "M"}${x(step).toFixed(1)} ${y(value).toFixed(1)}`).join("");
}

/** @param {Line} line @param {(step: number) => number} x @param {(value: number) => number} y */
function lineNodes(line, x, y) {
  const band = thinned(line.band ?? [], x);
  const around = [...band, ...[...band].reverse().map(([step, , high]) => [step, high])];
  const kind = `${line.isFaint ? "line faint" : "line"} ${line.kind}`;
  return [
    band.length > 1 && svg("path", { class: `band ${line.kind}`, d: `${pathOf(around, x, y)}Z` }),
    svg("path", { class: kind, d: pathOf(thinned(line.points, x), x, y) }),
    (line.whiskers ?? []).map(([step, low, high]) =>
      svg("path", { class: `line whisker ${line.kind}`, d: pathOf([[step, low], [step, high]], x, y) })),
    (line.isMarked || line.points.length === 1) && line.points.map(([step, value]) =>
      svg("circle", { class: `point ${line.kind}`, cx: x(step), cy: y(value), r: line.isFaint ? 2 : 3.5 })),
  ].flat();
}

/** @param {Chart} chart @param {number} width */
function drawn(chart, width) {
  const { low, high } = rangeOf(chart);
  const across = { low: chart.first, high: chart.last, title: "training step", whole: true };
  const up = { low, high, title: chart.unit, show: chart.bounds ? (value) => percent(value) : tickText(high) };
  const { root, x, y, bottom, top, left, right } = axes(width, across, up);
  const clip = `clip-${chart.id}`;
  const inside = svg("g", { "clip-path": `url(#${clip})` });
  fill(
    root,
    svg("clipPath", { id: clip }, svg("rect", { x: left - 5, y: top - 5, width: right - left + 10, height: bottom - top + 10 })),
    inside,
  );
  const inOrder = [...chart.lines].sort((a, b) => Number(!a.isFaint) - Number(!b.isFaint));
  for (const line of inOrder) fill(inside, ...lineNodes(line, x, y));
  const cursor = svg("g", { class: "cursor" });
  root.append(cursor);
  const stepAt = (pixel) => across.low + ((pixel - left) / (right - left)) * (across.high - across.low);
  return { root, cursor, x, y, top, bottom, stepAt };
}

/**
 * The episodes that a step leads to: the nearest ones that were recorded. Where there are those of
 * training and of an evaluation, the curve that is nearer to the pointer decides.
 * @param {Chart} chart @param {number} step @param {(line: Line) => number} distance
 */
function targetOf(chart, step, distance) {
  let found = [];
  for (const target of chart.targets) {
    const farther = found.length ? Math.abs(target.step - step) - Math.abs(found[0].step - step) : -1;
    if (farther < 0) found = [target];
    else if (farther === 0) found.push(target);
  }
  const marked = chart.lines.filter((line) => line.isMarked).map(distance);
  const others = chart.lines.filter((line) => !line.isMarked).map(distance);
  const isEvaluation = Math.min(Infinity, ...marked) <= Math.min(Infinity, ...others) && marked.length > 0;
  return found.find((target) => target.isEvaluation === isEvaluation) ?? found[0] ?? null;
}

/** What is known about a step. @param {Chart} chart @param {number} step */
function valuesOf(chart, step) {
  return chart.lines.map((line) => ({ line, text: line.say?.(step) ?? "" })).filter(({ text }) => text);
}

/**
 * A plot of curves. The pointer or the arrow keys choose a step; a click or Enter leads to its
 * episodes.
 * @param {Chart} chart
 */
export function curveChart(chart) {
  const steps = [...new Set(chart.lines.flatMap((line) => line.points.map(([step]) => step)))]
    .sort((a, b) => a - b)
    .map((step) => [step]);
  const plot = el("div", { class: "plot", "aria-hidden": "true" });
  const hint = el("div", { class: "curve-hint", hidden: true, "aria-hidden": "true" });
  const box = el("div", {
    id: chart.id, class: chart.targets.length ? "curve leads" : "curve", tabindex: "0", role: "slider",
    "aria-label": `${chart.title}, ${chart.unit}, by training step`,
    "aria-valuemin": steps[0][0], "aria-valuemax": steps[steps.length - 1][0], "aria-valuenow": steps[steps.length - 1][0],
  }, plot, hint);
  let frame = null;
  let target = null;

  const hide = () => {
    hint.hidden = true;
    frame?.cursor.replaceChildren();
  };
  const show = (step, pixel = null) => {
    const distance = (line) => {
      if (pixel === null || !line.points.length) return 0;
      return Math.abs(frame.y(line.points[nearest(line.points, step)][1]) - pixel);
    };
    target = targetOf(chart, step, distance);
    const values = valuesOf(chart, step);
    const spoken = values.map(({ line, text }) => `${line.label} ${text}`);
    box.setAttribute("aria-valuenow", String(step));
    box.setAttribute("aria-valuetext", [`Step ${step}`, ...spoken, target && `Enter: ${target.text}`].filter(Boolean).join(". "));
    if (!frame) return;
    frame.cursor.replaceChildren(svg("line", { x1: frame.x(step), x2: frame.x(step), y1: frame.top, y2: frame.bottom }));
    hint.replaceChildren(
      el("b", {}, `step ${significant(step, 9)}`),
      ...values.map(({ line, text }) => el("span", { class: line.isFaint ? "quiet" : "" },
        el("span", { class: `dot ${line.kind}` }), shown(line.label), " ", el("b", {}, text))),
    );
    if (target) hint.append(el("span", { class: "quiet" }, `Click: ${target.text}`));
    hint.hidden = false;
    const isRight = frame.x(step) > plot.clientWidth / 2;
    hint.style.left = isRight ? "" : `${frame.x(step) + 12}px`;
    hint.style.right = isRight ? `${plot.clientWidth - frame.x(step) + 12}px` : "";
  };
  const choose = (at) => {
    const [step] = steps[Math.max(0, Math.min(steps.length - 1, at))];
    chosenSteps.set(chart.id, step);
    show(step);
  };
  const chosen = () => nearest(steps, chosenSteps.get(chart.id) ?? Infinity);
  const open = () => {
    if (target) location.hash = target.url;
  };
  const moves = {
    ArrowLeft: () => choose(chosen() - 1),
    ArrowRight: () => choose(chosen() + 1),
    PageDown: () => choose(chosen() - Math.ceil(steps.length / PAGE_SHARE)),
    PageUp: () => choose(chosen() + Math.ceil(steps.length / PAGE_SHARE)),
    Home: () => choose(0),
    End: () => choose(steps.length - 1),
    Enter: open,
  };
  const point = (event) => {
    const { left, top } = plot.getBoundingClientRect();
    if (frame) show(steps[nearest(steps, frame.stepAt(event.clientX - left))][0], event.clientY - top);
  };
  box.addEventListener("pointermove", point);
  box.addEventListener("pointerleave", () => (box.matches(":focus-visible") ? choose(chosen()) : hide()));
  box.addEventListener("click", (event) => {
    point(event);
    open();
  });
  box.addEventListener("focus", () => box.matches(":focus-visible") && choose(chosen()));
  box.addEventListener("blur", hide);
  box.addEventListener("keydown", (event) => {
    if (!moves[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    moves[event.key]();
  });
  sized(plot, (width) => {
    frame = drawn(chart, width);
    return frame.root;
  });
  return box;
}

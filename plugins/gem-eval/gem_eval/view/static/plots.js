/** Small plots in SVG, redrawn when their width changes. */

import { el, svg } from "./dom.js";
import { counted, decimal, percent } from "./format.js";

const MARGIN = { top: 10, right: 12, bottom: 38, left: 46 };
const HEIGHT = 220;
const ROOM_OF_MARK = 20;
const WIDTH_OF_DIGIT = 7;

/** The colour of a series, as a class. @param {number} series */
export function tint(series) {
  return `series-${series % 8}`;
}

/**
 * What the colours mean.
 * @param {Array<{series: number, label: string}>} series
 * @param {(text: any) => Node[]} show
 */
export function legend(series, show) {
  return el(
    "ul",
    { class: "legend" },
    series.map((one) =>
      el("li", {}, el("span", { class: `dot ${tint(one.series)}` }), show(one.label)),
    ),
  );
}

/**
 * A place for a plot.
 * @param {string} label What it shows, for those who do not see it.
 * @param {(width: number) => SVGElement} draw
 */
function figure(label, draw) {
  const box = el("div", { class: "plot", role: "img", "aria-label": label });
  sized(box, draw);
  return box;
}

/**
 * Draws into an element whenever its width has changed.
 * @param {HTMLElement} box
 * @param {(width: number) => SVGElement} draw
 */
export function sized(box, draw) {
  let width = 0;
  new ResizeObserver(([entry]) => {
    const fresh = Math.floor(entry.contentRect.width);
    if (fresh === width || fresh < 60) return;
    width = fresh;
    box.replaceChildren(draw(width));
  }).observe(box);
}

/** Round numbers from low to high, about `count` of them. */
function ticks(low, high, count) {
  const width = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(width));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= width) ?? width;
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; at += 1) {
    found.push(Number((at * step).toPrecision(12)));
  }
  return found;
}

/**
 * Axes with units, and the functions that place values between them.
 * @param {number} width
 * @param {{low: number, high: number, title: string, whole?: boolean, show?: (value: number) => string}} across
 * @param {{low: number, high: number, title: string, show: (value: number) => string}} up
 */
export function axes(width, across, up) {
  const heights = ticks(up.low, up.high, 4).map((value) => ({ value, text: up.show(value) }));
  const longest = Math.max(0, ...heights.map(({ text }) => text.length));
  const [left, right] = [Math.max(MARGIN.left, longest * WIDTH_OF_DIGIT + 10), width - MARGIN.right];
  const [top, bottom] = [MARGIN.top, HEIGHT - MARGIN.bottom];
  const x = (value) => left + ((value - across.low) / (across.high - across.low || 1)) * (right - left);
  const y = (value) => bottom - ((value - up.low) / (up.high - up.low || 1)) * (bottom - top);
  const marks = ticks(across.low, across.high, Math.max(2, Math.floor(width / 90)))
    .filter((value) => !across.whole || Number.isInteger(value));
  const frame = svg(
    "g",
    { class: "axes" },
    heights.map(({ value, text }) => [
      svg(
        "line",
        { x1: left, x2: right, y1: y(value), y2: y(value), class: value === 0 ? "zero" : "" },
      ),
      svg("text", { x: left - 8, y: y(value) + 4, "text-anchor": "end" }, text),
    ]).flat(),
    marks.map((value) =>
      svg("text", { x: x(value), y: bottom + 17, "text-anchor": x(value) + ROOM_OF_MARK > width ? "end" : "middle" }, (across.show ?? ((one) => decimal(one, 3)))(value)),
    ),
    svg(
      "text",
      { x: right, y: HEIGHT - 4, "text-anchor": "end", class: "axis-title" },
      across.title,
    ),
  );
  const root = svg("svg", { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}` }, frame);
  return { root, x, y, left, right, top, bottom };
}

/**
 * How many episodes lie in each bin, as a share of the series' episodes.
 * @param {{start: number, step: number, bins: number, whole: boolean, counts: any[]}} data
 * @param {Array<{series: number, label: string}>} series
 * @param {string} title Of the values.
 */
export function histogram(data, series, title) {
  const totals = new Map();
  for (const row of data.counts) totals.set(
    row.series,
    (totals.get(row.series) ?? 0) + row.episodes,
  );
  const share = (row) => row.episodes / totals.get(row.series);
  const highest = Math.max(...data.counts.map(share));
  const shownSeries = series.filter((one) => totals.has(one.series));
  const half = data.whole && data.step === 1 ? 0.5 : 0;
  const bins = Math.max(data.bins, half ? 5 : 3);
  const across = {
    low: data.start - half,
    high: data.start - half + bins * data.step,
    title,
    whole: data.whole,
  };
  return figure(`Distribution: ${title}`, (width) => {
    const up = { low: 0, high: highest * 1.05, title: "episodes", show: (value) => percent(value) };
    const { root, x, y, bottom } = axes(width, across, up);
    const room = x(data.start + data.step) - x(data.start);
    const gap = Math.min(6, room * 0.15);
    const bar = Math.min(28, (room - gap) / shownSeries.length);
    for (const row of data.counts) {
      const place = shownSeries.findIndex((one) => one.series === row.series);
      const from = data.start + row.bin * data.step;
      const middle = (x(from - half) + x(from - half + data.step)) / 2;
      const left = middle + (place - shownSeries.length / 2) * bar;
      const what = data.whole && data.step === 1
        ? decimal(from) : `${decimal(from, 3)} to ${decimal(from + data.step, 3)}`;
      const hint = `${what}: ${counted(row.episodes, "episode")}, ${percent(share(row), 1)}`;
      root.append(svg(
        "rect",
        {
          class: `bar ${tint(row.series)}`,
          x: left,
          y: y(share(row)),
          width: Math.max(1, bar - (bar > 6 ? 1 : 0)),
          height: Math.max(1, bottom - y(share(row))),
          rx: bar > 6 ? 2 : 0,
        },
        svg("title", {}, hint),
      ));
    }
    return root;
  });
}

/**
 * Means over stretches of episodes, in the order in which they ended; each has the same share of
 * the episodes of every environment.
 * @param {any[]} points
 * @param {"success" | "return"} what
 */
export function curve(points, what) {
  const known = points.filter((point) => point[what] !== null);
  const values = known.map((point) => point[what]);
  const isShare = what === "success";
  let [low, high] = isShare ? [0, 1] : [Math.min(0, ...values), Math.max(...values)];
  if (low === high) high = low + 1;
  const show = isShare ? (value) => percent(value) : (value) => decimal(value, 2);
  return figure(`${what} over time`, (width) => {
    const across = { low: 0, high: 1, title: "episodes finished", show: percent };
    const up = { low, high, title: what, show };
    const { root, x, y } = axes(width, across, up);
    for (const series of new Set(known.map((point) => point.series))) {
      const line = known.filter((point) => point.series === series);
      const path = line.map(
        (point, at) => `${at ? "L" : "M"}${x(point.place).toFixed(1)} ${y(point[what]).toFixed(1)}`,
      );
      root.append(svg("path", { class: `line ${tint(series)}`, d: path.join("") }));
      for (const point of line) {
        const hint = `${show(point[what])} in ${counted(point.episodes, "episode")}, ${percent(point.place)} finished`;
        const at = { cx: x(point.place), cy: y(point[what]), r: line.length > 30 ? 2 : 3 };
        root.append(svg(
          "circle",
          { class: `point ${tint(series)}`, ...at },
          svg("title", {}, hint),
        ));
      }
    }
    return root;
  });
}

/**
 * Bars across, with intervals, on a scale from 0 to 1.
 * @param {Array<{name: Node, bars: Array<{series: number, value: any, hint: string}>}>} rows
 */
export function bars(rows) {
  const scale = el("div", { class: "bars-scale", "aria-hidden": "true" },
    [0, 25, 50, 75, 100].map((value) => el("span", {}, `${value} %`)));
  return el(
    "div",
    { class: "bars" },
    rows.map((row) => [
      el("div", { class: "bars-name" }, row.name),
      el("div", { class: "bars-tracks" }, row.bars.map(track)),
    ]).flat(),
    el("div", {}),
    scale,
  );
}

/** @param {{series: number, value: any, hint: string}} bar */
function track({ series, value, hint }) {
  const line = el("div", { class: `track ${tint(series)}`, title: hint });
  const row = el(
    "div",
    { class: "track-row" },
    line,
    el("span", { class: "track-value" }, percent(value?.mean)),
  );
  if (!value) return row;
  const fillBar = el("div", { class: "track-fill" });
  fillBar.style.width = `${value.mean * 100}%`;
  const whisker = el("div", { class: "track-whisker" });
  whisker.style.left = `${value.low * 100}%`;
  whisker.style.width = `${(value.high - value.low) * 100}%`;
  line.append(fillBar, whisker);
  return row;
}

/**
 * A bar of parts.
 * @param {Array<[string, number]>} parts Classes and sizes.
 * @param {number} whole What the full width stands for.
 */
export function stack(parts, whole) {
  const bar = el("div", { class: "stack" });
  for (const [kind, size] of parts) {
    if (!(size > 0) || !(whole > 0)) continue;
    const part = el("span", { class: `part ${kind}` });
    part.style.width = `${(size / whole) * 100}%`;
    bar.append(part);
  }
  return bar;
}

/** How a database changed in an episode, and where that is not what was expected. */

import { el } from "./dom.js";
import { asText, folded, shown } from "./text.js";

const LONGEST_VALUE = 120;
const STATES = {
  expected: ["✓", "as expected"],
  wrong: ["✗", "not as expected"],
  missing: ["○", "missing"],
  ungraded: ["·", "not graded"],
};

/** Whether a value is a list of changes: each has a table, an id and a path. @param {any} value */
export function isChanges(value) {
  return Array.isArray(value) && value.every((one) =>
    ["table", "id", "path"].every((name) => typeof one?.[name] === "string"));
}

/** Whether one of two places lies in the other. @param {any} one @param {any} other */
function overlaps(one, other) {
  if (one.table !== other.table || one.id !== other.id) return false;
  const [a, b] = [`${one.path}/`, `${other.path}/`];
  return a === "/" || b === "/" || a.startsWith(b) || b.startsWith(a);
}

/** Whether two changes are of the same place. @param {any} one @param {any} other */
function isSamePlace(one, other) {
  return one.table === other.table && one.id === other.id && one.path === other.path;
}

/**
 * The changes with their states, then the differences of other places. Such a difference lies in a
 * change or around one, or else the expected change is missing.
 * @param {any[]} changes From the beginning to the end of the episode.
 * @param {any[] | null} differences From the expected database to the final one; null if not graded.
 */
function judged(changes, differences) {
  const found = differences ?? [];
  const rows = changes.map((change) => {
    const touching = found.filter((one) => overlaps(one, change));
    const exact = touching.find((one) => isSamePlace(one, change));
    const state = differences === null ? "ungraded" : touching.length ? "wrong" : "expected";
    return { ...change, state, ...(exact && { expected: exact.before }) };
  });
  const others = found.filter((one) => !changes.some((change) => isSamePlace(one, change)));
  const more = others.map(({ before: expected, ...one }) =>
    changes.some((change) => overlaps(one, change))
      ? { ...one, expected, state: "wrong" }
      : { ...one, before: one.after, expected, state: "missing" });
  return [...rows, ...more];
}

/** A value of a record; a long one is folded. @param {any} value */
function cellValue(value) {
  if (value === null || value === undefined) return el("span", { class: "quiet" }, "none");
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (text.length <= LONGEST_VALUE) return el("code", {}, shown(text === "" ? '""' : text));
  const brief = [...shown(text.slice(0, LONGEST_VALUE / 2)), " …"];
  return folded(el("code", {}, brief), () => el("pre", { class: "text" }, shown(asText(value))));
}

/** @param {any} row @param {boolean} hasExpected */
function changeRow(row, hasExpected) {
  const [mark, meaning] = STATES[row.state];
  return el(
    "tr",
    { class: `change-${row.state}` },
    el("th", { scope: "row" },
      el("span", { class: "change-mark", title: meaning, "aria-label": meaning }, mark),
      row.path ? shown(row.path) : el("i", {}, "whole record")),
    el("td", { "data-name": "before" }, Object.hasOwn(row, "before") && cellValue(row.before)),
    el("td", { "data-name": "after" }, cellValue(row.after)),
    hasExpected && el("td", { "data-name": "expected" }, Object.hasOwn(row, "expected") && cellValue(row.expected)),
  );
}

/**
 * The changes by record, as a table.
 * @param {any[]} changes
 * @param {any[] | null} [differences] See `judged`.
 */
export function changesTable(changes, differences = null) {
  const rows = judged(changes, differences);
  if (!rows.length) return el("p", { class: "quiet" }, "(nothing changed)");
  const hasExpected = rows.some((row) => Object.hasOwn(row, "expected"));
  const names = ["Field", "Before", "After", hasExpected && "Expected"].filter(Boolean);
  const records = new Map();
  for (const row of rows) {
    const key = JSON.stringify([row.table, row.id]);
    records.set(key, [...(records.get(key) ?? []), row]);
  }
  return el("div", { class: "scrolls" }, el("table", { class: "changes" },
    el("thead", {}, el("tr", {}, names.map((name) => el("th", { scope: "col" }, name)))),
    [...records.values()].map((own) => el("tbody", {},
      el("tr", { class: "change-record" },
        el("th", { colspan: names.length, scope: "rowgroup" },
          el("span", { class: "quiet" }, shown(own[0].table)), " ", el("b", {}, shown(own[0].id)))),
      own.map((row) => changeRow(row, hasExpected))))));
}

/** What the marks mean. @param {any[]} changes @param {any[] | null} differences */
export function changesLegend(changes, differences) {
  const used = new Set(judged(changes, differences).map((row) => row.state));
  const states = Object.keys(STATES).filter((state) => used.has(state) && state !== "ungraded");
  return states.length > 0 && el("ul", { class: "legend" }, states.map((state) =>
    el("li", { class: `change-${state}` }, el("span", { class: "change-mark" }, STATES[state][0]), STATES[state][1])));
}

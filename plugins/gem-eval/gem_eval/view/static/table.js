/** The table of episodes: filters, order, pages. */

import { el, empty, segments } from "./dom.js";
import { compact, decimal, duration, fixed } from "./format.js";
import { envChoice } from "./overview.js";
import { tint } from "./plots.js";
import { source } from "./source.js";
import { filtersOf, go, link } from "./state.js";
import { plain, shown } from "./text.js";

const PAGE = 50;
const PREVIEW = 54;
const COMPARED = 40;
const OUTCOMES = [
  ["", "All"],
  ["success", "Success"],
  ["failed", "Failed"],
  ["error", "Error"],
  ["unscored", "Unscored"],
];
const COLUMNS = [
  ["outcome", "outcome", "left"],
  ["cause", "cause", "left"],
  ["env", "environment", "left"],
  ["agent", "agent", "left"],
  ["return", "return", ""],
  ["turns", "turns", ""],
  ["tokens", "tokens", ""],
  ["seconds", "time", ""],
  ["number", "ended", ""],
];

/** How an episode ended, as a badge. @param {any} row */
export function outcomeBadge(row) {
  return el(
    "span",
    { class: `badge ${row.outcome}` },
    row.outcome === "error" ? `error: ${plain(row.error_boundary)}` : row.outcome,
  );
}

/** @param {any} found @param {Object<string, string>} choices */
function filterBar(found, choices) {
  const change = (more) => go("episodes", { ...choices, offset: "", ...more });
  const onEnter = (name) => (event) => change({ [name]: event.target.value.trim() });
  const field = (name, title, kind, more = {}) =>
    el(
      "input",
      {
        type: kind,
        name,
        value: choices[name] ?? "",
        placeholder: title,
        "aria-label": title,
        onchange: onEnter(name),
        ...more,
      },
    );
  const hasUnscored = found.totals?.success === null || choices.outcome === "unscored";
  const shownOutcomes = OUTCOMES.filter(([value]) => value !== "unscored" || hasUnscored);
  return el(
    "form",
    { class: "filters", role: "search", onsubmit: (event) => event.preventDefault() },
    field("q", "Search observations and actions", "search", { class: "search", id: "search" }),
    found.envs.length > 1 && envChoice(found.envs, choices.env ?? "", (env) => change({ env })),
    found.series.length > 1 &&
      el(
        "select",
        { "aria-label": "Agent", onchange: (event) => change({ series: event.target.value }) },
        el("option", { value: "" }, "All agents"),
        found.series.map((one) => el(
          "option",
          { value: one.series, selected: String(one.series) === choices.series },
          plain(one.label),
        )),
      ),
    segments("Outcome", shownOutcomes, choices.outcome ?? "", (outcome) => change({ outcome })),
    el("span", { class: "range" },
      field("low", "return ≥", "number", { step: "any" }),
      field("high", "return ≤", "number", { step: "any" })),
  );
}

/** @param {Object<string, string>} choices */
function head(choices) {
  const sort = choices.sort || "number";
  const cell = ([name, title, side]) => {
    const isSorted = name === sort;
    const down = isSorted ? choices.desc === "1" : false;
    // The first click sorts figures in descending order, and names in ascending order.
    const desc = isSorted ? (down ? "" : "1") : side ? "" : "1";
    const arrow = isSorted ? (down ? " ↓" : " ↑") : "";
    return el(
      "th",
      {
        scope: "col",
        class: `${side} column-${name}`,
        "aria-sort": isSorted ? (down ? "descending" : "ascending") : "none",
      },
      el(
        "a",
        { href: link("episodes", { ...choices, sort: name, desc, offset: "" }) },
        title + arrow,
      ),
    );
  };
  return el("thead", {}, el("tr", {}, COLUMNS.map(cell)));
}

/**
 * The end of an episode: its error, what was expected and read, or its last action.
 * @param {any} row
 * @param {number} [longest] The number of characters of what was expected, and of what was read.
 */
function ending(row, longest = Infinity) {
  if (row.error_message) return row.error_message;
  if (!row.cause || !row.verdict) return (row.last_action ?? "").trim();
  const short = (text) => (text.length > longest ? `${text.slice(0, longest)}…` : text);
  const isCompared = row.expected !== null && row.extracted !== null;
  const compared = isCompared && `${short(row.extracted)} instead of ${short(row.expected)}`;
  return [compared, row.reason].filter(Boolean).join(" · ");
}

/** The same in short. @param {any} row */
function preview(row) {
  const text = ending(row, COMPARED);
  if (row.error_message || row.cause) return text.slice(0, 160);
  return text.length > PREVIEW ? `…${text.slice(-PREVIEW)}` : text;
}

/** @param {any} row @param {any[]} series @param {Object<string, string>} choices */
function tableRow(row, series, choices) {
  const label = series.find((one) => one.series === row.series)?.label ?? row.agent;
  const url = link(`episode/${row.id}`, filtersOf(choices));
  return el(
    "tr",
    { "data-id": row.id, onclick: (event) => event.target.closest("a") || (location.hash = url) },
    el("td", { class: "left column-outcome" }, outcomeBadge(row)),
    el("td", { class: "left column-cause" }, shown(row.cause ?? "")),
    el("td", { class: "left column-env" },
      el("a", { class: "row-link", href: url, title: plain(row.env_id) }, shown(row.env_id)),
      el(
        "span",
        { class: "preview", title: plain(ending(row)) },
        shown(preview(row)),
      )),
    el(
      "td",
      { class: "left column-agent" },
      el("span", { class: `dot ${tint(row.series)}` }),
      shown(label),
    ),
    el("td", { class: "column-return" }, fixed(row.return, 3)),
    el("td", { class: "column-turns" }, decimal(row.turns, 0)),
    el("td", { class: "column-tokens" }, compact(row.completion_tokens)),
    el("td", { class: "column-seconds" }, duration(row.seconds)),
    el("td", { class: "column-number quiet" }, decimal(row.number + 1, 0)),
  );
}

/** @param {number} total @param {number} offset @param {(offset: any) => string} url */
export function pager(total, offset, url) {
  const last = Math.min(offset + PAGE, total);
  const step = (name, key, to, enabled) =>
    enabled ? el("a", { class: "button", rel: key, href: url(to || "") }, name)
      : el("span", { class: "button disabled", "aria-disabled": "true" }, name);
  return el(
    "div",
    { class: "pager" },
    el(
      "span",
      { class: "quiet", role: "status" },
      total ? `${decimal(offset + 1, 0)} to ${decimal(last, 0)} of ${decimal(total, 0)}` : "none",
    ),
    step("Previous", "prev", Math.max(0, offset - PAGE), offset > 0),
    step("Next", "next", offset + PAGE, last < total),
  );
}

/** @param {Object<string, string>} choices */
function titleOf({ step, evaluation }) {
  const kind = { 0: "of training", 1: "of evaluations" }[evaluation];
  if (!step) return ["Episodes", kind].filter(Boolean).join(" ");
  return evaluation === "1" ? `Episodes of the evaluation after step ${step}` : `Episodes of step ${step}`;
}

/** The page. @param {import("./state.js").Place} place @returns {Promise<Node[]>} */
export async function tablePage({ choices }) {
  const offset = Number(choices.offset ?? 0) || 0;
  const query = { ...filtersOf(choices), offset, limit: PAGE };
  const [found, page] = await Promise.all([source.overview(), source.episodes(query)]);
  const url = (to) => link("episodes", { ...choices, offset: to });
  const isFiltered = Object.keys(filtersOf(choices)).some((name) => name !== "sort" && name !== "desc");
  const note = source.note && source.note.shown < source.note.total &&
    el(
      "p",
      { class: "notice" },
      `This file has ${decimal(source.note.shown, 0)} of ${decimal(source.note.total, 0)} ` +
        "episodes, of evenly spread tasks. The overview covers all of them.",
    );
  const table = page.rows.length
    ? el(
      "table",
      { class: "episodes" },
      head(choices),
      el("tbody", {}, page.rows.map((row) => tableRow(row, found.series, choices))),
    )
    : empty(found.envs.length ? "No matching episodes" : "No episodes yet",
        found.envs.length ? el("p", {}, el("a", { href: link("episodes") }, "Clear all filters")) : null);
  return [
    el("div", { class: "title-row" },
      el("div", { class: "title" }, el("h1", {}, titleOf(choices)),
        isFiltered && el("a", { href: link("episodes", { sort: choices.sort, desc: choices.desc }) }, "Clear filters")),
      pager(page.total, offset, url)),
    filterBar(found, choices),
    note,
    el("div", { class: "panel table-panel" }, table),
    page.rows.length > 12 && pager(page.total, offset, url),
  ].filter(Boolean);
}

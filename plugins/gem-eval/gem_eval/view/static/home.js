/** The runs of a folder: a table with filters, order and tags; two and more can be compared. */

import { el, empty } from "./dom.js";
import { compact, counted, decimal, fixed, isNumber, percent } from "./format.js";
import { source } from "./source.js";
import { go, link, runsUrl } from "./state.js";
import { pager } from "./table.js";
import { copyButton, plain, shown } from "./text.js";

const RUNS_A_PAGE = 50;
const FACETS = ["kind", "agent", "env", "tag", "state"];
const FACET_NAMES = { kind: "All commands", agent: "All agents", env: "All environments", tag: "All tags", state: "All states" };
const HOME_COLUMNS = [
  ["name", "run", "left"],
  ["created", "started", "left"],
  ["kind", "command", "left"],
  ["agent", "agent", "left"],
  ["env", "environments", "left"],
  ["episodes", "episodes", ""],
  ["success", "success", ""],
  ["return", "return", ""],
  ["errors", "errors", ""],
  ["state", "state", "left"],
];
const STATE_BADGES = { finished: "success", incomplete: "failed", running: "" };

/** The names of the runs that are chosen; they stay so while other rows are shown. */
const chosenRuns = new Set();

/** The largest of the known values; null without any. @param {any[]} values */
function largest(values) {
  const known = values.filter(isNumber);
  return known.length ? Math.max(...known) : null;
}

/** What rows are ordered by; of several agents, the best counts. */
const ORDERS = {
  name: (row) => row.name,
  created: (row) => row.created,
  kind: (row) => row.kind || null,
  agent: (row) => agentsOf(row).join() || null,
  env: (row) => row.envs.join() || null,
  episodes: (row) => row.episodes,
  success: (row) => largest(row.figures.map((one) => one.success?.value)),
  return: (row) => largest(row.figures.map((one) => one.return?.value)),
  errors: (row) => largest(row.figures.map((one) => one.errors)),
  state: (row) => row.state || null,
};

/** The agents of a run, those with figures first. @param {any} row @returns {string[]} */
function agentsOf(row) {
  return [...new Set([...row.figures.map((one) => one.agent), ...row.agents])];
}

/** The values of a row that a facet chooses from. @param {any} row @param {string} facet @returns {string[]} */
function facetValues(row, facet) {
  const values = { kind: [row.kind], agent: agentsOf(row), env: row.envs, tag: row.tags, state: [row.state] };
  return values[facet].filter(Boolean);
}

/** @param {any} row */
function textOf(row) {
  return [row.name, row.command, ...agentsOf(row), ...row.envs, ...row.tags].join("\n").toLowerCase();
}

/** @param {any[]} rows @param {Object<string, string>} choices */
function selected(rows, choices) {
  const words = (choices.q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const facets = FACETS.filter((facet) => choices[facet]);
  const found = rows.filter((row) => {
    if (!facets.every((facet) => facetValues(row, facet).includes(choices[facet]))) return false;
    const text = words.length ? textOf(row) : "";
    return words.every((word) => text.includes(word));
  });
  const { value, sign } = orderOf(choices);
  return found.sort((x, y) => compared(value(x), value(y), sign) || (x.name < y.name ? sign : -sign));
}

/** The newest run comes first, until another order is chosen. @param {Object<string, string>} choices */
function orderOf(choices) {
  const sort = Object.hasOwn(ORDERS, choices.sort ?? "") ? choices.sort : "created";
  const isDown = choices.sort ? choices.desc === "1" : true;
  return { sort, isDown, value: ORDERS[sort], sign: isDown ? -1 : 1 };
}

/** Compares two values; unknown ones come last in both directions. @param {any} x @param {any} y @param {number} sign */
function compared(x, y, sign) {
  if (x === y) return 0;
  if (x === null || y === null) return x === null ? 1 : -1;
  return x < y ? -sign : sign;
}

/** @param {any[]} rows @param {Object<string, string>} choices */
function homeFilters(rows, choices) {
  const change = (more) => go("runs", { ...choices, offset: "", ...more });
  const facet = (name) => {
    const counts = new Map();
    for (const value of rows.flatMap((row) => facetValues(row, name))) counts.set(value, (counts.get(value) ?? 0) + 1);
    const values = [...counts].sort(([x], [y]) => (x < y ? -1 : 1));
    if (values.length < 2 && !choices[name]) return null;
    if (choices[name] && !counts.has(choices[name])) values.unshift([choices[name], 0]);
    return el("select", { "aria-label": FACET_NAMES[name].replace("All ", ""), name, onchange: (event) => change({ [name]: event.target.value }) },
      el("option", { value: "" }, FACET_NAMES[name]),
      values.map(([value, count]) => el("option", { value, selected: value === choices[name] }, `${plain(value)} (${count})`)));
  };
  return el("form", { class: "filters", role: "search", onsubmit: (event) => event.preventDefault() },
    el("input", {
      type: "search", id: "search", class: "search", name: "q", value: choices.q ?? "",
      placeholder: "Search runs, commands, agents, environments, tags", "aria-label": "Search runs",
      onchange: (event) => change({ q: event.target.value.trim() }),
    }),
    FACETS.map(facet));
}

/** @param {Object<string, string>} choices */
function homeHead(choices) {
  const { sort, isDown } = orderOf(choices);
  const cell = ([name, title, side]) => {
    const isSorted = name === sort;
    const desc = (isSorted ? isDown : side && name !== "created") ? "" : "1";
    return el("th", { scope: "col", class: `${side} column-${name}`, "aria-sort": isSorted ? (isDown ? "descending" : "ascending") : "none" },
      el("a", { href: link("runs", { ...choices, sort: name, desc, offset: "" }) }, `${title}${isSorted ? (isDown ? " ↓" : " ↑") : ""}`));
  };
  return el("thead", {}, el("tr", {}, el("td", { class: "column-choice" }), HOME_COLUMNS.map(cell)));
}

/** A moment as date and time of the day. @param {any} unix */
function stamp(unix) {
  if (!isNumber(unix)) return "–";
  const at = new Date(unix * 1000);
  const two = (value) => String(value).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** One line for each agent. @param {any} row @param {(figures: any) => import("./dom.js").Child | import("./dom.js").Child[]} show */
function perAgent(row, show) {
  return row.figures.length ? row.figures.map((one) => el("div", { class: "line" }, show(one))) : "–";
}

/** @param {any} estimate @param {(value: any) => string} show */
function withInterval(estimate, show) {
  if (!isNumber(estimate?.value)) return "–";
  const isKnown = isNumber(estimate.low) && isNumber(estimate.high);
  return [show(estimate.value), isKnown && el("span", { class: "quiet" }, ` ${show(estimate.low)} to ${show(estimate.high)}`.replaceAll(" %", ""))];
}

/** @param {any} row */
function stateCell(row) {
  const more = [row.missing > 0 && `${decimal(row.missing, 0)} missing`, isNumber(row.step) && `step ${decimal(row.step, 0)}`];
  return [
    row.state ? el("span", { class: `badge ${STATE_BADGES[row.state]}` }, row.state) : "–",
    more.filter(Boolean).map((text) => el("span", { class: "quiet line" }, text)),
  ].flat();
}

/**
 * The tags of a run, each a link to the runs that have it, and what adds and removes tags.
 * @param {any} row
 * @param {Object<string, string>} choices
 */
function tagList(row, choices) {
  const list = el("span", { class: "tags" });
  const change = async (given, focus) => {
    try {
      row.tags = (await source.changeTags({ run: row.name, ...given })).tags;
      draw();
      list.querySelector(focus)?.focus();
    } catch (error) {
      draw();
      list.append(el("span", { class: "bad", role: "alert" }, plain(error.message)));
    }
  };
  const field = () => {
    const input = el("input", { class: "tag-field", "aria-label": `A tag for ${plain(row.name)}`, placeholder: "tag", maxlength: 40 });
    const form = el("form", {
      onsubmit: (event) => {
        event.preventDefault();
        if (input.value.trim()) change({ add: [input.value] }, ".tag-add");
      },
      onfocusout: () => setTimeout(() => form.isConnected && !input.value.trim() && draw()),
    }, input, el("button", { type: "submit" }, "Add"));
    list.querySelector(".tag-add").replaceWith(form);
    input.focus();
  };
  const draw = () => list.replaceChildren(
    ...row.tags.map((tag) => el("span", { class: "tag" },
      el("a", { href: link("runs", { ...choices, tag, offset: "" }) }, shown(tag)),
      el("button", { type: "button", "aria-label": `Remove the tag ${plain(tag)} of ${plain(row.name)}`, title: "Remove the tag", onclick: () => change({ remove: [tag] }, ".tag-add") }, "×"))),
    el("button", { type: "button", class: "tag-add", "aria-label": `Add a tag to ${plain(row.name)}`, onclick: field }, "+ tag"));
  draw();
  return list;
}

/** @param {any} row @param {Object<string, string>} choices @param {() => void} onChoice */
function homeRow(row, choices, onChoice) {
  const url = runsUrl([row.name]);
  const choose = (event) => {
    if (event.target.checked) chosenRuns.add(row.name);
    else chosenRuns.delete(row.name);
    onChoice();
  };
  const few = (values) => (values.length > 2 ? counted(values.length, "environment") : values.join(", "));
  const agents = row.figures.length ? perAgent(row, (one) => shown(one.agent)) : shown(agentsOf(row).join(", ") || "–");
  return el("tr", {},
    el("td", { class: "column-choice" },
      el("input", { type: "checkbox", "aria-label": `Choose ${plain(row.name)}`, checked: chosenRuns.has(row.name), onchange: choose })),
    el("th", { scope: "row", class: "left column-name" },
      el("a", { class: "row-link", href: url }, shown(row.name)),
      row.command && el("span", { class: "preview", title: plain(row.command) }, shown(row.command)),
      row.problem && el("span", { class: "bad line" }, shown(row.problem)),
      tagList(row, choices)),
    el("td", { class: "left column-created" }, stamp(row.created)),
    el("td", { class: "left column-kind" }, shown(row.kind || "–")),
    el("td", { class: "left column-agent" }, agents),
    el("td", { class: "left column-env", title: plain(row.envs.join(", ")) }, shown(few(row.envs) || "–")),
    el("td", { class: "column-episodes" }, compact(row.episodes)),
    el("td", { class: "column-success" }, perAgent(row, (one) => withInterval(one.success, (value) => percent(value, 1)))),
    el("td", { class: "column-return" }, perAgent(row, (one) => withInterval(one.return, (value) => fixed(value, 3)))),
    el("td", { class: "column-errors" }, perAgent(row, (one) => el("span", { class: one.errors ? "bad" : "" }, compact(one.errors)))),
    el("td", { class: "left column-state" }, stateCell(row)));
}

/** What can be done with the runs that are chosen. @param {any[]} rows @param {() => void} clear */
function choicePanel(rows, clear) {
  // The run that was chosen first is the one that the others are compared with.
  const found = [...chosenRuns].map((name) => rows.find((row) => row.name === name));
  const command = `gem-core compare ${found.map((row) => row.word).join(" ")}`;
  const names = found.map((row) => row.name);
  return el("section", { class: "panel run-choice", "aria-label": "Chosen runs", hidden: !found.length },
    el("span", { role: "status" }, `${counted(found.length, "run")} chosen`),
    el("a", { class: "button", href: runsUrl(names) }, found.length > 1 ? "Show them together" : "Show it"),
    found.length > 1 && el("a", { class: "button", href: runsUrl(names, "#/compare") }, "Compare task by task"),
    el("button", { type: "button", onclick: clear }, "Choose none"),
    found.length > 1
      ? el("div", { class: "block" }, el("pre", { class: "text code", tabindex: "0" }, shown(command)), copyButton(command))
      : el("span", { class: "quiet" }, "Choose a second one for the command that compares them."));
}

/** The page. @param {import("./state.js").Place} place @returns {Promise<Node[]>} */
export async function homePage({ choices }) {
  const { folder, rows } = await source.runs();
  for (const name of chosenRuns) if (!rows.some((row) => row.name === name)) chosenRuns.delete(name);
  const found = selected(rows, choices);
  const offset = Math.max(0, Math.min(Math.trunc(Number(choices.offset ?? 0)) || 0, found.length - 1));
  const isFiltered = Boolean(choices.q) || FACETS.some((facet) => choices[facet]);
  let chosen = el("div");
  const showChoice = () => {
    const fresh = choicePanel(rows, () => {
      chosenRuns.clear();
      for (const box of document.querySelectorAll(".column-choice input")) box.checked = false;
      showChoice();
    });
    chosen.replaceWith(fresh);
    chosen = fresh;
  };
  const page = found.slice(offset, offset + RUNS_A_PAGE).map((row) => homeRow(row, choices, () => showChoice()));
  const box = el("div", {}, chosen);
  showChoice();
  const url = (to) => link("runs", { ...choices, offset: to });
  return [
    el("div", { class: "title-row" },
      el("div", { class: "title" }, el("h1", {}, "Runs in ", shown(folder)),
        isFiltered && el("a", { href: link("runs", { sort: choices.sort, desc: choices.desc }) }, "Clear filters")),
      pager(found.length, offset, url)),
    homeFilters(rows, choices),
    box,
    el("div", { class: "panel table-panel" }, found.length
      ? el("table", { class: "runs" }, homeHead(choices), el("tbody", {}, page))
      : empty(rows.length ? "No matching runs" : "No runs yet",
          rows.length ? el("p", {}, el("a", { href: link("runs") }, "Clear all filters")) : el("p", {}, "They appear here when they begin."))),
    page.length > 12 && pager(found.length, offset, url),
  ].filter(Boolean);
}

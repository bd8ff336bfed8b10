/** Two agents or runs side by side: their differences, and both episodes of a task. */

import { el, empty, unseen } from "./dom.js";
import { decimal, fixed, percent } from "./format.js";
import { facts, lookOf, turnList, ends } from "./episode.js";
import { envChoice } from "./overview.js";
import { tint } from "./plots.js";
import { source } from "./source.js";
import { comparable, go, link } from "./state.js";
import { outcomeBadge, pager } from "./table.js";
import { plain, shown } from "./text.js";

/**
 * @param {any[]} series
 * @param {string} side
 * @param {number} chosen
 * @param {Object<string, string>} choices
 */
function sideChoice(series, side, chosen, choices) {
  return el(
    "label",
    { class: "side-choice" },
    el("span", { class: `dot ${tint(chosen)}` }),
    el(
      "select",
      {
        "aria-label": `Side ${side.toUpperCase()}`,
        onchange: (event) => go(
          "compare",
          { ...choices, [side]: event.target.value, offset: "", left: "", right: "" },
        ),
      },
      series.map((one) => el(
        "option",
        { value: one.series, selected: one.series === chosen },
        plain(one.label),
      )),
    ),
  );
}

/** A difference with its sign. @param {any} value @param {(value: any) => string} show */
function signed(value, show) {
  return value > 0 ? `+${show(value)}` : show(value);
}

/** @param {any} found */
function summary(found) {
  const isKnown = found.return_a !== null && found.return_b !== null;
  const difference = isKnown ? found.return_b - found.return_a : null;
  const cards = [
    [
      "Shared tasks",
      decimal(found.total, 0),
      `${found.total - found.a_better - found.b_better} alike`,
    ],
    [
      "Return",
      `${fixed(found.return_a, 3)} → ${fixed(found.return_b, 3)}`,
      `difference ${signed(difference, (value) => fixed(value, 3))}`,
    ],
    found.success_a !== null && found.success_b !== null &&
      [
        "Success",
        `${percent(found.success_a)} → ${percent(found.success_b)}`,
        `difference ${signed((found.success_b - found.success_a) * 100, (value) => fixed(value, 1))} points`,
      ],
    ["Better", `${found.a_better} : ${found.b_better}`, "tasks won by the left and the right"],
  ].filter(Boolean);
  return el("div", { class: "cards wide" }, cards.map(([name, value, more]) =>
    el("div", { class: "card" }, el("span", { class: "card-name" }, name), el("span", { class: "card-value" }, value), el("span", { class: "card-more" }, more))));
}

/** @param {any} row @param {Object<string, string>} choices @param {number} scale */
function comparedRow(row, choices, scale) {
  const url = link("compare", { ...choices, left: row.id_a, right: row.id_b });
  const bar = el("span", { class: "difference", "aria-hidden": "true" });
  const size = scale ? (Math.abs(row.difference ?? 0) / scale) * 50 : 0;
  const part = el("span", { class: row.difference > 0 ? "right" : "left-side" });
  part.style.width = `${size}%`;
  bar.append(part);
  return el(
    "tr",
    { onclick: (event) => event.target.closest("a") || (location.hash = url) },
    el(
      "td",
      { class: "left column-env" },
      el("a", { class: "row-link", href: url, title: plain(row.env_id) }, shown(row.env_id)),
      el("span", { class: "preview" }, `task ${row.group}`),
    ),
    el("td", { class: "column-a" }, fixed(row.return_a, 3)),
    el("td", { class: "column-b" }, fixed(row.return_b, 3)),
    el("td", { class: "column-difference" }, signed(row.difference, (value) => fixed(value, 3))),
    el("td", { class: "left column-bar" }, bar),
    el("td", { class: "column-turns" }, `${decimal(row.turns_a, 1)} / ${decimal(row.turns_b, 1)}`),
  );
}

/** @param {any} found @param {any[]} pair @param {Object<string, string>} choices */
function taskTable(found, pair, choices) {
  if (!found.rows.length) {
    return empty(
      "No shared tasks",
      el(
        "p",
        {},
        "Tasks are shared if the environment and the number of the task are the same. " +
          "Give both runs the same environments and seed.",
      ),
    );
  }
  const scale = Math.max(...found.rows.map((row) => Math.abs(row.difference ?? 0)));
  const heads = [
    ["environment and task", "left column-env"],
    [shown(pair[0].label), "column-a"],
    [shown(pair[1].label), "column-b"],
    ["difference in return", "column-difference"],
    [unseen("difference as a bar"), "left column-bar"],
    ["turns", "column-turns"],
  ];
  return el(
    "table",
    { class: "episodes tasks" },
    el(
      "thead",
      {},
      el("tr", {}, heads.map(([name, kind]) => el("th", { scope: "col", class: kind }, name))),
    ),
    el("tbody", {}, found.rows.map((row) => comparedRow(row, choices, scale))),
  );
}

/** @param {string} id @param {any[]} series @param {Object<string, string>} choices */
async function side(id, series, choices) {
  const { row, episode } = await source.episode(id, {});
  const one = series.find((candidate) => candidate.series === row.series);
  const { before, after } = ends(episode);
  return el(
    "section",
    { class: "side" },
    el("div", { class: "panel episode-head" },
      el("div", { class: "title-row" },
        el(
          "h2",
          {},
          el("span", { class: `dot ${tint(row.series)}` }),
          el("a", { href: link(`episode/${id}`) }, shown(one?.label ?? row.agent)),
        ),
        outcomeBadge(row)),
      facts(row, episode)),
    ...before.filter(Boolean),
    ...turnList(episode, lookOf(episode, choices)),
    after,
  );
}

/** @param {Object<string, string>} choices @param {any[]} series */
async function sideBySide(choices, series) {
  const { left, right, ...list } = choices;
  const sides = await Promise.all([side(left, series, choices), side(right, series, choices)]);
  const { row } = await source.episode(left, {});
  return [
    el("div", { class: "crumbs" }, el("a", { href: link("compare", list), rel: "up" }, "← Tasks")),
    el(
      "div",
      { class: "title-row" },
      el("h1", { title: plain(row.env_id) }, shown(row.env_id)),
      el("span", { class: "quiet" }, `task ${row.group}`),
    ),
    el("div", { class: "sides" }, sides),
  ];
}

/** The page. @param {import("./state.js").Place} place @returns {Promise<Node[]>} */
export async function comparePage({ choices }) {
  const over = await source.overview();
  const series = comparable(over.series);
  if (series.length < 2) {
    return [el("h1", {}, "Compare"), empty("There is only one agent",
      el("p", {}, "Give two runs, or a run with two agents: "), el("code", {}, "gem-core view RUN_A RUN_B"))];
  }
  if (choices.left && choices.right) return sideBySide(choices, series);
  const chosen = (side, others) => series.find((one) => String(one.series) === choices[side]) ??
    series.find((one) => !others.includes(one));
  const a = chosen("a", []);
  const pair = [a, chosen("b", [a])];
  const offset = Number(choices.offset ?? 0) || 0;
  const found = await source.tasks(
    pair[0].series,
    pair[1].series,
    { env: choices.env, offset, limit: 50 },
  );
  return [
    el(
      "div",
      { class: "title-row" },
      el("h1", {}, "Compare"),
      pager(found.total, offset, (to) => link("compare", { ...choices, offset: to })),
    ),
    el("div", { class: "filters" },
      sideChoice(series, "a", pair[0].series, choices), el(
        "span",
        { class: "quiet with" },
        "with",
      ), sideChoice(series, "b", pair[1].series, choices),
      over.envs.length > 1 && envChoice(over.envs, choices.env ?? "", (env) => go("compare", { ...choices, env, offset: "" }))),
    found.total > 0 && summary(found),
    el("div", { class: "panel table-panel" }, taskTable(found, pair, choices)),
  ].filter(Boolean);
}

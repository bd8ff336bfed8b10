/** An episode, turn by turn. */

import { browser } from "./browser.js";
import { dialogue, isDialogue } from "./dialogue.js";
import { el, panel, segments, stretches, unseen } from "./dom.js";
import { film, framesOf } from "./film.js";
import { compact, decimal, duration, fixed, moment } from "./format.js";
import { grading } from "./grading.js";
import { markBar, markedTurns, noSuchTurn, turnUrl } from "./marks.js";
import { isVisit } from "./pages.js";
import { stack, tint } from "./plots.js";
import { source } from "./source.js";
import { comparable, filtersOf, go, link, place } from "./state.js";
import { folded, block, plain, shown } from "./text.js";
import { outcomeBadge } from "./table.js";
import { colouringsOf, largestAdvantage, tokenLegend } from "./tokens.js";
import { errorBlock, observation, timesOf, turnCard } from "./turns.js";

/**
 * The colours and scales that all turns share.
 * @param {any} episode
 * @param {Object<string, string>} choices
 * @param {(turn: number) => string} [urlOf] The link to a turn.
 */
export function lookOf(episode, choices, urlOf) {
  const sums = episode.turns.map((turn) => timesOf(turn).reduce((sum, [, size]) => sum + size, 0));
  const has = colouringsOf(episode).some(([name]) => name === choices.tokens);
  return {
    colouring: has ? choices.tokens : "",
    largest: largestAdvantage(episode),
    longest: Math.max(0, ...sums),
    agents: new Set(episode.turns.map((turn) => turn.agent)).size,
    frames: framesOf(episode),
    urlOf,
  };
}

/** @param {any} row @param {any} episode */
export function facts(row, episode) {
  const known = [
    ["return", fixed(row.return, 3)],
    ["turns", decimal(row.turns, 0)],
    row.completion_tokens !== null && [
      "tokens",
      `${compact(row.prompt_tokens)} in, ${compact(row.completion_tokens)} out`,
    ],
    row.tool_calls > 0 && [
      "tool calls",
      row.tool_failures ? `${row.tool_calls}, ${row.tool_failures} failed` : row.tool_calls,
    ],
    ["time", duration(row.seconds)],
    row.model && ["model", shown(row.model)],
    ["seed", row.seed],
    ["task", `${row.group}${row.sample ? `, sample ${row.sample}` : ""}`],
    row.step !== null && [
      row.evaluation ? "evaluation" : "training",
      `${row.evaluation ? "after " : ""}step ${row.step}`,
    ],
    row.attempts > 1 && ["attempts", row.attempts],
    moment(episode.started_at) && ["started", moment(episode.started_at)],
  ].filter(Boolean);
  return el(
    "dl",
    { class: "facts" },
    known.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))),
  );
}

/** @param {any} row */
function timeline(row) {
  const rest = Math.max(0, row.agent_seconds - row.queue_seconds - row.model_seconds);
  const parts = /** @type {Array<[string, number]>} */ ([
    ["setup", row.setup_seconds],
    ["queue", row.queue_seconds],
    ["model", row.model_seconds],
    ["agent", rest],
    ["env", row.env_seconds],
  ]);
  const names = {
    setup: "setup",
    queue: "queue",
    model: "model",
    agent: "agent, else",
    env: "environment",
  };
  const used = parts.filter(([, size]) => size > row.seconds * 1e-3);
  if (!used.length) return null;
  return el("div", { class: "timeline" }, stack(parts, row.seconds),
    el("ul", { class: "legend" }, used.map(([part, size]) =>
      el("li", {}, el("span", { class: `dot part ${part}` }), `${names[part]} ${duration(size)}`))));
}

/** The turns, some at a time. @param {any} episode @param {any} look */
export function turnList(episode, look) {
  return stretches(episode.turns, (turn, at) => turnCard(turn, at, look, episode.turns[at - 1]));
}

/**
 * The looks of episodes beside that of turns: a name, whether an episode has it, and its nodes.
 * @type {Array<[string, (episode: any) => boolean, (episode: any, look: any) => Node[]]>}
 */
const EPISODE_LOOKS = [
  ["Dialogue", isDialogue, (episode, look) => [dialogue(episode, look.urlOf)]],
  ["Browser", isVisit, browser],
];

/** The blocks before and after the turns. @param {any} episode */
export function ends(episode) {
  const failures = episode.failures ?? [];
  const { suffix: _, ...more } = episode.reset_info ?? {};
  const info = framesOf(episode).length ? more : episode.reset_info;
  return {
    before: [
      failures.map((failure, at) => errorBlock(failure, `Attempt ${at + 1} failed`)),
      episode.error && errorBlock(episode.error, "The episode ended with an error"),
      Object.keys(info ?? {}).length > 0 && folded("Info of reset", () => block(info, "code")),
    ].flat(),
    after: panel("Final observation", null, observation(episode.final_observation)),
  };
}

/** The page. @param {import("./state.js").Place} place @returns {Promise<Node[]>} */
export async function episodePage({ id, choices }) {
  const filters = filtersOf(choices);
  const [found, over] = await Promise.all([source.episode(id, filters), source.overview()]);
  const { row, episode } = found;
  const series = over.series.find((one) => one.series === row.series);
  const urlOf = (turn) => turnUrl(id, place().choices, turn);
  const look = lookOf(episode, choices, urlOf);
  const marked = markedTurns(episode);
  const current = () => Number(place().choices.turn) || 0;
  const hasTurn = !choices.turn || (/^\d+$/.test(choices.turn) && Number(choices.turn) >= 1 && Number(choices.turn) <= episode.turns.length);
  const to = (other) => link(`episode/${other}`, { ...filters, tokens: choices.tokens, show: choices.show });
  const step = (name, rel, other, title, key = null) =>
    other ? el("a", { class: "button", rel, "data-key": key, href: to(other), title }, name)
      : el("span", { class: "button disabled", "aria-disabled": "true" }, name);
  const hasFailed = found.previous_failed || found.next_failed;
  const [own, , draw] = EPISODE_LOOKS.find(([, has]) => has(episode)) ?? [];
  const isDrawn = draw !== undefined && choices.show !== "turns";
  const colourings = isDrawn ? [] : colouringsOf(episode);
  const { before, after } = ends(episode);
  const remember = (turn) => history.replaceState(null, "", link(`episode/${id}`, { ...place().choices, turn: "", board: turn || "" }));
  return [
    el("div", { class: "crumbs" },
      el("a", { href: link("episodes", filters), rel: "up" }, "← Episodes"),
      el("div", { class: "pager" },
        found.place && el(
          "span",
          { class: "quiet" },
          `${decimal(found.place, 0)} of ${decimal(found.total, 0)}`,
        ),
        step("Previous", "prev", found.previous, "Previous episode (←)"),
        step("Next", "next", found.next, "Next episode (→)"),
        hasFailed && step("Previous failed", null, found.previous_failed, "Previous episode that failed (F)", "F"),
        hasFailed && step("Next failed", null, found.next_failed, "Next episode that failed (f)", "f"))),
    !hasTurn && noSuchTurn(plain(choices.turn), episode.turns.length),
    el("div", { class: "panel episode-head" },
      el("div", { class: "title-row" },
        el("h1", { title: plain(row.env_id) }, shown(row.env_id)),
        outcomeBadge(row)),
      el("p", { class: "who" }, el("span", { class: `dot ${tint(row.series)}` }), shown(series?.label ?? row.agent),
        compareLink(row, comparable(over.series))),
      facts(row, episode),
      grading(row, episode),
      timeline(row)),
    ...before.filter(Boolean),
    !isDrawn && look.frames.length > 0 && film(look.frames, Number(choices.board || choices.turn) || 0, look, observation, remember),
    el("div", { class: "turn-bar" },
      episode.turns.length > 1 && marked.length > 0 && markBar(marked, current, urlOf),
      colourings.length > 1 && el("div", { class: "colouring" },
      el("span", { class: "quiet" }, "Colour tokens by"),
      segments(
        "Colour tokens by",
        colourings,
        look.colouring,
        (tokens) => go(`episode/${id}`, { ...place().choices, tokens }, true),
      ),
      tokenLegend(look.colouring, look.largest))),
    draw && el("div", {}, segments(
      "Show",
      [["", own], ["turns", "Turns"]],
      isDrawn ? "" : "turns",
      (show) => go(`episode/${id}`, { ...filters, show }, true),
    )),
    unseen(el("h2", {}, isDrawn ? own : "Turns")),
    ...(isDrawn ? draw(episode, look) : [...turnList(episode, look), after]),
  ].filter(Boolean);
}

/** @param {any} row @param {any[]} series */
function compareLink(row, series) {
  const other = series.find((one) => one.series !== row.series);
  if (!other || !series.some((one) => one.series === row.series)) return null;
  return el("a", { href: link("compare", { a: row.series, b: other.series, env: row.env_id }) }, "compare");
}

/** The turns of an episode that are worth a look: an error, an action of a wrong form, a reward. */

import { el } from "./dom.js";
import { fixed, isNumber } from "./format.js";
import { link } from "./state.js";

const MOST_NAMED = 12;

/**
 * What is noteworthy in a turn, but for its reward.
 * @param {any} turn
 * @returns {string[]}
 */
export function problemsOf(turn) {
  const calls = Array.isArray(turn.info?.tool_calls) ? turn.info.tool_calls : [];
  return [
    turn.info?.format_error === true && "format error",
    calls.some((call) => call?.ok === false) && "failed call",
    turn.generation?.finish_reason === "length" && "cut reply",
  ].filter(Boolean);
}

/**
 * The turns that are worth a look: their numbers, from 1 on, and why.
 * @param {any} episode
 * @returns {Array<{turn: number, why: string}>}
 */
export function markedTurns({ turns, error }) {
  return turns
    .map((turn, at) => {
      const why = problemsOf(turn);
      if (error && at === turns.length - 1) why.push("error");
      if (turn.reward !== 0) why.push(`reward ${turn.reward > 0 ? "+" : ""}${isNumber(turn.reward) ? fixed(turn.reward, 3) : turn.reward}`);
      return { turn: at + 1, why: why.join(", ") };
    })
    .filter(({ why }) => why);
}

/**
 * Buttons that lead from one of these turns to the next, and links to each.
 * @param {Array<{turn: number, why: string}>} marked
 * @param {() => number} current The turn that one is at; 0 before the first.
 * @param {(turn: number) => string} urlOf
 */
export function markBar(marked, current, urlOf) {
  const goTo = (turn) => {
    if (location.hash === urlOf(turn)) showTurn(turn);
    else location.hash = urlOf(turn);
  };
  const next = () => marked.find(({ turn }) => turn > current()) ?? marked[0];
  const previous = () => marked.findLast(({ turn }) => turn < current()) ?? marked[marked.length - 1];
  const button = (name, key, find) =>
    el("button", { type: "button", "data-key": key, title: `${name} error or reward (${key})`, onclick: () => goTo(find().turn) }, name);
  const left = marked.length - MOST_NAMED;
  return el("nav", { class: "marks", "aria-label": "Errors and rewards" },
    el("span", { class: "quiet" }, "Errors and rewards"),
    button("Previous", "X", previous),
    button("Next", "x", next),
    el("ul", {}, marked.slice(0, MOST_NAMED).map(({ turn, why }) =>
      el("li", {}, el("a", { href: urlOf(turn) }, `Turn ${turn} ${why}`))),
    left > 0 && el("li", { class: "quiet" }, `and ${left} more`)));
}

/**
 * The heading of a turn, which is a link to it.
 * @param {number} turn Its number, from 1 on.
 * @param {any} look
 */
export function turnName(turn, look) {
  const name = `Turn ${turn}`;
  return look.urlOf ? el("a", { class: "turn-link", href: look.urlOf(turn), title: "A link to this turn" }, name) : name;
}

/**
 * Shows a turn of the page, which may have to be made first.
 * @param {number} turn Its number, from 1 on.
 * @returns {boolean} Whether there is such a turn.
 */
export function showTurn(turn) {
  const find = () => document.getElementById(`turn-${turn}`);
  for (let more; !find() && (more = document.querySelector("main button.more-turns:not([hidden])")); ) more.click();
  const found = find();
  document.querySelector("main .current-turn")?.classList.remove("current-turn");
  if (!found) return false;
  found.classList.add("current-turn");
  found.tabIndex = -1;
  found.focus({ preventScroll: true });
  found.scrollIntoView({ block: "start" });
  return true;
}

/** What to say about a turn that a link names and that does not exist. @param {string} turn @param {number} count */
export function noSuchTurn(turn, count) {
  return el("p", { class: "notice", role: "status" }, `The link names turn ${turn}, but this episode has ${count === 1 ? "1 turn" : `${count} turns`}.`);
}

/** The URL of a turn. @param {string} id The episode. @param {Object<string, any>} choices @param {number} turn */
export function turnUrl(id, choices, turn) {
  return link(`episode/${id}`, { ...choices, board: "", turn });
}

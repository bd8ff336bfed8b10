/** A game as a film: one board at a time, with the move that made it and what the game said. */

import { boardOf, drawBoard } from "./board.js";
import { el, labelled, svg, unseen } from "./dom.js";
import { fixed, isNumber } from "./format.js";
import { block, copyButton, folded, shown } from "./text.js";
import { tokenBlock, tokensOf } from "./tokens.js";

const FRAME_MS = 800;
const SIGNS = {
  first: "M9.5 4.5L4 10l5.5 5.5M15.5 4.5L10 10l5.5 5.5",
  back: "M12.5 4.5L7 10l5.5 5.5",
  play: "M6.5 4.5v11l8.5-5.5z",
  pause: "M7 4.5v11M13 4.5v11",
  next: "M7.5 4.5L13 10l-5.5 5.5",
  last: "M4.5 4.5L10 10l-5.5 5.5M10.5 4.5L16 10l-5.5 5.5",
};

/**
 * @typedef {{turn: any, board: string, earlier: string, suffix: string, answer: any}} Frame
 * What a move led to: the text that has the board, that of the same board before the move, the text
 * after the history, and what the game said. `turn` is null for the start.
 */

/** The text of a board behind an observation. @param {any} info */
function suffixOf(info) {
  return typeof info?.suffix === "string" ? info.suffix : "";
}

/** An observation without the board behind it. @param {any} value @param {string} suffix */
function withoutSuffix(value, suffix) {
  return typeof value === "string" && suffix && value.endsWith(suffix) ? value.slice(0, -suffix.length).trimEnd() : value;
}

/** @param {any} turn @param {any} info @param {any} answer @returns {Frame} */
function frame(turn, info, answer) {
  const suffix = suffixOf(info);
  const own = withoutSuffix(answer, suffix);
  const board = [suffix, own].find((text) => typeof text === "string" && boardOf(text)) ?? "";
  return { turn, board, earlier: "", suffix, answer: own };
}

/**
 * The frames of a game: the start, and one for each turn.
 * @param {any} episode
 * @returns {Frame[]} None if the episode has no board.
 */
export function framesOf(episode) {
  const { turns } = episode;
  if (!turns.length || ![episode.reset_info, turns[0].info].some(suffixOf)) return [];
  const frames = turns.map((turn, at) => {
    const next = turns[at + 1];
    return frame(turn, turn.info, next ? next.added : episode.final_observation);
  });
  const all = [frame(null, episode.reset_info, turns[0].added), ...frames];
  for (const [at, one] of frames.entries()) if (one.board === one.suffix) one.earlier = all[at].suffix;
  return all.some(({ board }) => board) ? all : [];
}

/** A board, the cells that have changed marked. @param {string} text @param {string} [earlier] */
export function boardBlock(text, earlier = "") {
  return el("div", { class: "block board-block" }, drawBoard(text, earlier, shown), copyButton(text));
}

/** The reward of a turn and how the episode ended with it. @param {any} turn */
export function rewardMarks(turn) {
  const { reward } = turn;
  return [
    el(
      "span",
      { class: `reward ${reward > 0 ? "plus" : reward < 0 ? "minus" : ""}` },
      `reward ${reward > 0 ? "+" : ""}${isNumber(reward) ? fixed(reward, 3) : String(reward)}`,
    ),
    turn.terminated && el("span", { class: "badge" }, "terminated"),
    turn.truncated && el("span", { class: "badge failed" }, "truncated"),
  ];
}

/** The text of an action, its tokens coloured if that was chosen. @param {any} turn @param {any} look */
export function actionText(turn, look) {
  const tokens = look?.colouring ? tokensOf(turn) : [];
  return tokens.length ? tokenBlock(tokens, look.colouring, look.largest) : block(turn.action);
}

/** The text after the history, if it is not the board. @param {Frame} frame */
export function textAfter({ board, suffix }) {
  return suffix && suffix !== board ? labelled("Text after the history", block(suffix)) : null;
}

/** The board of a frame, and the text beside it. @param {Frame[]} frames @param {number} at @param {any} look */
function sceneOf(frames, at, look, observation) {
  const { turn, board, earlier, answer } = frames[at];
  const rules = frames[0].answer;
  return [
    el("div", { class: "film-board" }, board && boardBlock(board, earlier), textAfter(frames[at])),
    el("div", { class: "film-text" },
      turn && el("div", { class: "labelled action" }, el("h4", {}, "Action"), actionText(turn, look)),
      turn && labelled("What the game said", observation(answer)),
      turn ? folded("Rules", () => observation(rules)) : labelled("Rules", observation(rules))),
  ];
}

/** @param {string} name */
function icon(name) {
  return svg("svg", { viewBox: "0 0 20 20", width: 20, height: 20, "aria-hidden": "true" }, svg("path", { d: SIGNS[name] }));
}

/**
 * The film. Its buttons name the keys that press them.
 * @param {Frame[]} frames
 * @param {number} first The frame to begin with.
 * @param {any} look
 * @param {(value: any) => Node} observation Shows an observation.
 * @param {(at: number) => void} remember Called with each frame that is shown.
 */
export function film(frames, first, look, observation, remember) {
  const last = frames.length - 1;
  let at = Math.min(Math.max(0, Math.trunc(first)), last);
  let timer = 0;
  const scene = el("div", { class: "film-scene" });
  const title = el("div", { class: "film-title", role: "status" });
  const button = (name, sign, press, key = null, keyName = "") =>
    el("button", { type: "button", "aria-label": name, title: keyName ? `${name} (${keyName})` : name, "data-key": key, onclick: press }, icon(sign));
  const halt = () => {
    clearInterval(timer);
    timer = 0;
  };
  const show = (place) => {
    at = Math.min(Math.max(0, place), last);
    const { turn } = frames[at];
    scene.replaceChildren(...sceneOf(frames, at, look, observation));
    title.replaceChildren(el("h3", {}, turn ? `Turn ${at} of ${last}` : `Start of ${last} turns`), ...(turn ? rewardMarks(turn).filter(Boolean) : []));
    slider.value = String(at);
    slider.setAttribute("aria-valuetext", turn ? `turn ${at} of ${last}` : "start");
    for (const one of [toStart, back]) one.disabled = at === 0;
    for (const one of [next, toEnd]) one.disabled = at === last;
    play.replaceChildren(icon(timer ? "pause" : "play"));
    play.setAttribute("aria-label", timer ? "Pause" : "Play");
  };
  const step = (place) => {
    halt();
    show(place);
    remember(at);
  };
  const tick = () => {
    if (!scene.isConnected) halt();
    else if (at + 1 < last) show(at + 1);
    else step(last);
  };
  const toStart = button("First board", "first", () => step(0));
  const back = button("Board before", "back", () => step(at - 1), "ArrowLeft", "←");
  const play = button("Play", "play", () => {
    if (timer) {
      step(at);
      return;
    }
    timer = setInterval(tick, FRAME_MS);
    show(at === last ? 0 : at + 1);
  }, " ", "space");
  const next = button("Next board", "next", () => step(at + 1), "ArrowRight", "→");
  const toEnd = button("Last board", "last", () => step(last));
  const slider = el("input", { type: "range", min: 0, max: last, "aria-label": "Turn", oninput: () => step(Number(slider.value)) });
  show(at);
  return el("section", { class: "panel film", "aria-label": "The game as a film" },
    unseen(el("h2", {}, "The game as a film")),
    el("div", { class: "film-bar" }, el("div", { class: "film-buttons" }, toStart, back, play, next, toEnd), slider, title),
    scene);
}

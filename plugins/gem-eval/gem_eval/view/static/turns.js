/** One turn of an episode, and the error that ended an episode early. */

import { changesTable, isChanges } from "./database.js";
import { el, labelled, present } from "./dom.js";
import { actionText, boardBlock, rewardMarks, textAfter } from "./film.js";
import { counted, decimal, duration, fixed, isNumber } from "./format.js";
import { problemsOf, turnName } from "./marks.js";
import { patchBlock, resultsTable } from "./patch.js";
import { stack } from "./plots.js";
import { changedFiles, terminalCall } from "./terminal.js";
import { asText, block, copyButton, folded, shown } from "./text.js";

const IMAGE = /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+$/;
const OF_TOKENS = ["advantages", "loss_mask", "tokens", "prompt_tokens"];

/**
 * @typedef {{colouring: string, largest: number, longest: number, agents: number, frames: import("./film.js").Frame[], urlOf?: (turn: number) => string}} TurnLook
 * The colours and scales that all turns share, the boards of a game, and the links to turns.
 */

/** The looks of calls, by tool; all others look as `toolCall` shows them. */
const CALL_LOOKS = new Map([["terminal", terminalCall]]);

/**
 * The values of info that have a look of their own, in the order in which they are shown. A function
 * returns null for a value that it does not know, which is then shown with the rest of info.
 * @type {Array<[string, (value: any) => Node | null]>}
 */
const INFO_LOOKS = [
  ["tool_calls", toolCalls],
  ["tool_messages", () => document.createDocumentFragment()],
  ["rewards", rewardParts],
  ["db_diff", (value) => titled("Changes of the database", isChanges(value) ? changesTable(value) : null)],
  ["patch", (value) => titled("Changes of the source", patchBlock(value))],
  ["results", (value) => titled("Tests", resultsTable(value))],
  ["changed_files", (value) => titled("Files changed", changedFiles(value))],
  ["left_behind", (value) => titled("Files left out of grading", pathList(value))],
  ["suffix", (value) => (typeof value === "string" ? titled("Text after the history", value ? block(value) : null) : null)],
  ["verifier_output", (value) => titled("Output of the tests", typeof value === "string" ? block(value, "code") : null)],
];

/** The parts of the time of a turn, in seconds. @param {any} turn @returns {Array<[string, number]>} */
export function timesOf(turn) {
  const { queue_seconds: queue = 0, model_seconds: model = 0 } = turn.generation ?? {};
  const agent = Math.max(0, (turn.agent_seconds ?? 0) - queue - model);
  return [["queue", queue], ["model", model], ["agent", agent], ["env", turn.env_seconds ?? 0]];
}

/** An observation: text, texts with images, or any JSON. @param {any} value */
export function observation(value) {
  if (value === null || typeof value !== "object") return block(value);
  const all = Array.isArray(value.images) ? value.images : [];
  const images = all.filter((image) => IMAGE.test(String(image)));
  const { images: left, ...rest } = value;
  if (left !== undefined && !images.length) rest.images = left;
  const texts = Object.values(rest);
  const isText = images.length > 0 && texts.length === 1 && typeof texts[0] === "string";
  return el(
    "div",
    {},
    block(isText ? texts[0] : Array.isArray(value) ? value : rest),
    images.length > 0 && el(
      "div",
      { class: "images" },
      images.map((url, at) => el("img", { src: url, alt: `image ${at + 1}`, loading: "lazy" })),
    ),
  );
}

/** @param {any} call */
function toolCall(call) {
  const ok = call.ok === true;
  return el(
    "div",
    { class: "tool-call" },
    el("div", { class: "tool-head" },
      el("span", { class: `badge ${ok ? "success" : "error"}` }, ok ? "ok" : "failed"),
      el("b", {}, shown(call.function || call.tool)),
      isNumber(call.seconds) && el("span", { class: "quiet" }, duration(call.seconds))),
    Object.keys(call.arguments ?? {}).length > 0 && labelled(
      "Arguments",
      block(argumentsText(call.arguments), "code"),
    ),
    labelled("Output", block(call.output ?? "", "code")),
  );
}

/** @param {any} calls */
function toolCalls(calls) {
  if (!Array.isArray(calls)) return null;
  if (!calls.length) return document.createDocumentFragment();
  const name = isOfTerminal(calls) ? "Terminal" : calls.length === 1 ? "Tool call" : `${calls.length} tool calls`;
  return labelled(name, calls.map((call) => (CALL_LOOKS.get(call?.tool) ?? toolCall)(call ?? {})));
}

/** @param {string} name @param {Node | null} node */
function titled(name, node) {
  return node && labelled(name, node);
}

/** The parts of a reward by name. @param {any} parts */
function rewardParts(parts) {
  if (parts === null || typeof parts !== "object" || Array.isArray(parts)) return null;
  if (!Object.values(parts).every(isNumber)) return null;
  const rows = Object.entries(parts).map(([name, value]) =>
    el("div", {}, el("dt", {}, shown(name)), el("dd", {}, fixed(value, 3))));
  return labelled("Parts of the reward", el("dl", { class: "facts" }, rows));
}

/** @param {any} paths */
function pathList(paths) {
  return Array.isArray(paths) ? block(paths.join("\n")) : null;
}

/** One long text, such as a program, unchanged; everything else as JSON. @param {any} given */
function argumentsText(given) {
  const values = Object.entries(given);
  return values.length === 1 && typeof values[0][1] === "string" ? values[0][1] : asText(given);
}

/** @param {any} message */
function chatMessage(message) {
  const { role, content, ...rest } = message ?? {};
  const more = present(rest);
  return el(
    "div",
    { class: "message" },
    el("span", { class: "role" }, shown(role ?? "message")),
    content !== null && content !== undefined && block(content),
    Object.keys(more).length > 0 && block(more, "code"),
  );
}

/** @param {any} generation */
function generated(generation) {
  const messages = generation.messages ?? [];
  const { role, content, ...more } = generation.reply ?? {};
  const after = generation.extends ? ", after those before" : "";
  const hasMore = Object.keys(present(more)).length > 0;
  return [
    messages.length > 0 &&
      folded(
        `${counted(messages.length, "message")} to the model${after}`,
        () => el("div", { class: "messages" }, messages.map(chatMessage)),
      ),
    hasMore && folded("The model's reply, unchanged", () => chatMessage(generation.reply)),
  ];
}

/** @param {any} generation */
function generationFigures(generation) {
  if (!generation) return null;
  const parts = [
    generation.model && shown(generation.model),
    isNumber(generation.prompt_tokens) && `${decimal(generation.prompt_tokens, 0)} in`,
    isNumber(generation.completion_tokens) && `${decimal(generation.completion_tokens, 0)} out`,
    generation.finish_reason && generation.finish_reason !== "stop" && shown(`ended by ${generation.finish_reason}`),
    generation.attempts > 1 && `${generation.attempts} attempts`,
    Array.isArray(generation.versions) &&
      generation.versions.length > 1 &&
      `policy versions ${generation.versions.map((run) => run?.[0] ?? "?").join(", ")}`,
  ].filter(Boolean);
  return el(
    "span",
    { class: "turn-figures" },
    parts.map((part, at) => [at > 0 && " · ", part]).flat(2),
  );
}

/**
 * The values of info: those with a look of their own, and the rest, folded.
 * @param {any} info
 * @param {any} before That of the turn before, whose text after the history is not shown again.
 */
function infoParts(info, before) {
  const rest = { ...info };
  OF_TOKENS.forEach((name) => delete rest[name]);
  const nodes = [];
  for (const [name, look] of INFO_LOOKS) {
    const isRepeated = name === "suffix" && rest.suffix === before?.suffix;
    const node = Object.hasOwn(rest, name) && !isRepeated ? look(rest[name]) : null;
    if (!node) continue;
    nodes.push(node);
    delete rest[name];
  }
  return [...nodes, Object.keys(rest).length > 0 && folded("Info", () => block(rest, "code"))];
}

/** Whether all calls were commands in a terminal. @param {any} calls */
function isOfTerminal(calls) {
  return Array.isArray(calls) && calls.length > 0 && calls.every((call) => call?.tool === "terminal");
}

/** The head of a turn: its number, reward, flags and time. @param {any} turn @param {number} at @param {TurnLook} look */
export function turnHead(turn, at, look) {
  const times = timesOf(turn);
  const seconds = times.reduce((sum, [, size]) => sum + size, 0);
  const bar = stack(times, look.longest);
  bar.title = times
    .filter(([, size]) => size > 0)
    .map(([name, size]) => `${name} ${duration(size)}`)
    .join(", ");
  return el("div", { class: "turn-head" },
    el("h3", {}, turnName(at + 1, look)),
    look.agents > 1 && el("span", { class: "badge" }, shown(turn.agent)),
    rewardMarks(turn),
    problemsOf(turn).map((problem) => el("span", { class: "badge failed" }, problem)),
    look.urlOf && copyButton(() => new URL(look.urlOf(at + 1), location.href).href, "Copy link", "Copy a link to this turn"),
    el("span", { class: "turn-time" }, bar, el("span", { class: "quiet" }, duration(seconds))));
}

/** The action of a turn. @param {any} turn @param {TurnLook} [look] Colours its tokens. */
export function turnAction(turn, look) {
  return el("div", { class: "labelled action" }, el("h4", {}, "Action", generationFigures(turn.generation)), actionText(turn, look));
}

/** What is new in the observation of a turn, and the whole of it, folded. @param {any} turn @param {any} added */
function observed(turn, added) {
  return [observation(added), turn.shares ? folded("The whole observation", () => observation(turn.observation)) : null];
}

/**
 * One turn; of a game, beside the board that its move made.
 * @param {any} turn
 * @param {number} at Its place, from 0 on.
 * @param {TurnLook} look
 * @param {any} [before] The turn before.
 */
export function turnCard(turn, at, look, before) {
  const [start, made] = look.frames.slice(at, at + 2);
  const { suffix, ...more } = turn.info ?? {};
  const info = made && typeof suffix === "string" ? more : turn.info;
  const name = turn.shares ? "Observation: new in this turn" : "Observation";
  const text = [
    isOfTerminal(before?.info?.tool_calls)
      ? folded("Observation: what the terminal printed", () => observation(turn.observation))
      : labelled(name, observed(turn, start ? start.answer : turn.added)),
    turn.generation && generated(turn.generation),
    turnAction(turn, look),
    made && made.suffix !== start.suffix && textAfter(made),
    infoParts(info, before?.info),
  ];
  return el(
    "article",
    { class: "turn", id: `turn-${at + 1}` },
    turnHead(turn, at, look),
    made?.board
      ? el("div", { class: "turn-parts" },
          el("div", { class: "labelled" }, el("h4", {}, "After the move"), boardBlock(made.board, made.earlier)),
          el("div", { class: "turn-text" }, ...text))
      : text.flat(),
  );
}

/** An error, its traceback folded. @param {any} error @param {string} title */
export function errorBlock(error, title) {
  return el(
    "section",
    { class: "error-box" },
    el("div", { class: "tool-head" },
      el("b", {}, title), el("span", { class: "badge error" }, shown(error.boundary)), el("b", {}, shown(error.type))),
    block(error.message ?? ""),
    error.traceback && folded("Traceback", () => block(error.traceback, "code")),
  );
}

/** A dialogue over a database: messages left and right, and what became of the database. */

import { changesLegend, changesTable, isChanges } from "./database.js";
import { el, labelled, panel } from "./dom.js";
import { counted, fixed, isNumber } from "./format.js";
import { asText, block, folded, shown } from "./text.js";

const SEATS = ["user", "assistant"];
const BRIEF = 90;
const ENDS = {
  "user: stop": "The user ended it.",
  "user: transfer": "The user ended it, as the assistant handed over.",
  "user: out-of-scope": "The user ended it, as the scenario does not say how to go on.",
  "assistant: transfer": "The assistant handed over to a human agent.",
  max_turns: "It reached the limit of turns (max_turns).",
  max_errors: "It reached the limit of failed calls in a row (max_errors).",
};
const KINDS = { read: "reads", write: "writes", neither: "" };

/** @param {any} episode @returns {any} The info of the last turn. */
function lastInfo(episode) {
  return episode.turns[episode.turns.length - 1]?.info ?? {};
}

/** Whether an episode is a dialogue over a database. @param {any} episode */
export function isDialogue(episode) {
  const info = lastInfo(episode);
  if (typeof info.ended_by === "string" && isChanges(info.db_diff)) return true;
  return episode.turns.some((turn) => databaseCalls(turn).length > 0);
}

/** @param {any} turn @returns {any[]} */
function databaseCalls(turn) {
  const calls = turn?.info?.tool_calls;
  const isOne = (call) => typeof call?.kind === "string" && Object.hasOwn(KINDS, call.kind);
  return Array.isArray(calls) && calls.every(isOne) ? calls : [];
}

/** Whose turns an episode has: both seats' names, or that of one. @param {any} episode */
function seatsOf(episode) {
  const names = new Set(episode.turns.map((turn) => turn.agent));
  if (names.size > 1 && [...names].every((name) => SEATS.includes(name))) return SEATS;
  return [episode.reset_info?.task_id === undefined ? "user" : "assistant"];
}

/**
 * @typedef {{seat: string, text: any, calls: any[], turn: number}} Move
 * A message, or calls; `turn` counts from 1 on, and is 0 for what the other seat said.
 */

/**
 * The moves of both seats in order. In the view of one seat, the other's messages are observations;
 * an observation that follows calls is their output. The user's final observation repeats a message.
 * @param {any} episode
 * @returns {Move[]}
 */
export function movesOf(episode) {
  const seats = seatsOf(episode);
  const isBoth = seats.length > 1;
  const moves = [];
  const other = seats[0] === "user" ? "assistant" : "user";
  const hear = (text) => text !== "" && moves.push({ seat: other, text, calls: [], turn: 0 });
  let hasCalled = false;
  episode.turns.forEach((turn, at) => {
    if (isBoth ? at === 0 : !hasCalled) hear(turn.observation);
    const calls = databaseCalls(turn);
    moves.push({ seat: isBoth ? turn.agent : seats[0], text: turn.action, calls, turn: at + 1 });
    hasCalled = calls.length > 0;
  });
  const isAnswered = seats[0] === "assistant" && !isBoth && !hasCalled && episode.turns.length > 0;
  if (isAnswered) hear(episode.final_observation);
  return moves;
}

/** Arguments in a line. @param {any} given */
function briefly(given) {
  const text = Object.values(given ?? {}).map((value) => (typeof value === "string" ? value : JSON.stringify(value))).join(", ");
  return text.length > BRIEF ? `${text.slice(0, BRIEF)}…` : text;
}

/** A call, folded. @param {any} call */
function databaseCall(call) {
  const title = [
    el("span", { class: `badge ${call.ok === true ? "success" : "error"}` }, call.ok === true ? "ok" : "failed"),
    el("b", {}, shown(call.function || "(no function)")),
    KINDS[call.kind] && el("span", { class: `badge call-${call.kind}` }, KINDS[call.kind]),
    el("span", { class: "call-brief" }, shown(briefly(call.arguments))),
  ];
  const details = folded(title, () => el("div", { class: "call-parts" },
    Object.keys(call.arguments ?? {}).length > 0 && labelled("Arguments", block(call.arguments, "code")),
    labelled("Result", block(pretty(call.output), "code"))));
  details.classList.add("call");
  return details;
}

/** A JSON text with line breaks; any other text unchanged. @param {any} output */
function pretty(output) {
  try {
    const value = JSON.parse(output);
    return value !== null && typeof value === "object" ? value : String(output);
  } catch {
    return String(output ?? "");
  }
}

/** @param {Move} move @param {(turn: number) => string} urlOf */
function moveNode(move, urlOf) {
  const turn = move.turn > 0 && el("a", { class: "quiet turn-link", href: urlOf(move.turn), title: "A link to this turn" }, `turn ${move.turn}`);
  if (move.calls.length) {
    return el("li", { class: "move calls", id: `turn-${move.turn}` },
      el("div", { class: "move-head" }, el("b", {}, move.calls.length === 1 ? "Call" : counted(move.calls.length, "call")), turn),
      move.calls.map(databaseCall),
      isMoreThanCalls(move) && folded("What the assistant wrote", () => block(move.text)));
  }
  return el("li", { class: `move ${move.seat}`, id: move.turn ? `turn-${move.turn}` : null },
    el("div", { class: "move-head" }, el("b", {}, move.seat === "user" ? "User" : "Assistant"), turn),
    move.text === "" ? el("p", { class: "quiet" }, "(empty message)")
      : el("div", { class: "bubble", dir: "auto" }, shown(asText(move.text))));
}

/** Whether a text has more than the call that it makes. @param {Move} move */
function isMoreThanCalls(move) {
  return typeof pretty(asText(move.text)) === "string" && move.text !== "";
}

/** The parts of the reward with what each misses. @param {any} info */
function partsList(info) {
  const parts = Object.entries(info.rewards ?? {}).filter(([, value]) => isNumber(value));
  if (!parts.length) return el("p", { class: "quiet" }, "(not graded)");
  return el("ul", { class: "parts" }, parts.map(([name, value]) => {
    const missing = name === "db" ? [] : info.reward_details?.[name];
    return el("li", {},
      el("span", { class: `badge ${value >= 1 ? "success" : "error"}` }, fixed(value, 0)),
      el("b", {}, shown(name)),
      Array.isArray(missing) && missing.length > 0 && el("ul", {}, missing.map((one) => el("li", {}, missed(one)))));
  }));
}

/** What is missing, as a text. @param {any} one */
function missed(one) {
  if (typeof one === "string") return ["missing: ", el("code", {}, shown(one))];
  return ["missing: ", el("code", {}, shown(`${one?.name ?? one?.function ?? ""}(${briefly(one?.arguments)})`))];
}

/** How the dialogue ended. @param {any} info */
function endOf(info) {
  if (typeof info.ended_by !== "string") return "It was not ended.";
  return Object.hasOwn(ENDS, info.ended_by) ? ENDS[info.ended_by] : shown(info.ended_by);
}

/** The texts that the seats were given before the dialogue, by title. @param {any} episode */
function briefings(episode) {
  const seats = seatsOf(episode);
  const given = seats.length > 1 ? episode.reset_info ?? {} : { [seats[0]]: episode.reset_info };
  const titles = { assistant: "Policy and functions", user: "The user's situation" };
  return Object.entries(titles)
    .filter(([seat]) => typeof given[seat]?.prefix === "string")
    .map(([seat, title]) => folded(title, () => block(given[seat].prefix)));
}

/** The database, the reward and the end, beside the messages. @param {any} episode */
function aside(episode) {
  const info = lastInfo(episode);
  const changes = isChanges(info.db_diff) ? info.db_diff : null;
  const graded = isNumber(info.rewards?.db);
  const found = info.reward_details?.db;
  const differences = graded ? (isChanges(found) ? found : []) : null;
  const user = episode.reset_info?.user;
  return el("div", { class: "dialogue-aside" },
    panel("Database", changes && changesLegend(changes, differences),
      changes ? changesTable(changes, differences) : el("p", { class: "quiet" }, "(not known)")),
    panel("Reward", null, partsList(info)),
    panel("End", null, el("p", {}, endOf(info)),
      user?.id !== undefined && el("p", { class: "quiet" }, "The user was played by ", shown(user.id), ".")),
    panel("Given at the start", null, briefings(episode)));
}

/** The whole dialogue. @param {any} episode @param {(turn: number) => string} urlOf */
export function dialogue(episode, urlOf) {
  return el("div", { class: "dialogue" },
    el("ol", { class: "moves", "aria-label": "Dialogue" }, movesOf(episode).map((move) => moveNode(move, urlOf))),
    aside(episode));
}

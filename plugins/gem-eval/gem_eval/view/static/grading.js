/** Why an episode was paid what it was paid: `info.grading` of its last turn, and the cause of a failure. */

import { el } from "./dom.js";
import { block, folded, shown } from "./text.js";

const IN_LINE = 120;
const BADGES = { correct: "success", "partly correct": "failed", wrong: "error", "no answer": "error" };

/**
 * A text in a line, or as a block if it is long.
 * @param {string | null | undefined} text
 * @param {string} nothing What is shown if there is none.
 * @param {string} [tag] The element of a line.
 */
function value(text, nothing, tag = "code") {
  if (text === null || text === undefined) return el("span", { class: "quiet" }, nothing);
  const line = text.trim();
  if (line === "") return el("span", { class: "quiet" }, "(empty)");
  return line.length > IN_LINE || line.includes("\n") ? block(text, "code") : el(tag, {}, shown(line));
}

/**
 * The part of an episode's head; null if the environment says nothing and the episode did not fail.
 * @param {any} row
 * @param {any} episode
 */
export function grading(row, episode) {
  const { cause, verdict, reason } = row;
  if (!verdict && !cause) return null;
  const question = episode.turns.at(-1)?.info?.grading?.question;
  const parts = [
    verdict && ["expected", value(row.expected, "(no single answer)")],
    verdict && ["extracted", value(row.extracted, "(nothing)")],
    ["verdict", [
      verdict && el("span", { class: `badge ${BADGES[verdict] ?? ""}` }, shown(verdict)),
      cause && cause !== "wrong" && el("span", { class: "badge" }, shown(cause)),
      reason && value(reason, "", "span"),
    ]],
  ].filter(Boolean);
  return el("div", { class: "grading" },
    el("dl", {}, parts.map(([name, what]) => el("div", {}, el("dt", {}, name), el("dd", {}, what)))),
    typeof question === "string" && question !== "" && folded("Question", () => block(question)));
}

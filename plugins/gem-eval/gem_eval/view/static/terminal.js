/** Commands in a terminal, and what became of the files of its machine. */

import { el, fill } from "./dom.js";
import { counted, decimal, isNumber } from "./format.js";
import { block, copyButton, shown } from "./text.js";

const LINES_OF_END = 10;
const LONGEST_LINE = 1000;
const FILE_MARKS = { new: "+", changed: "~", deleted: "−" };

/** The state of a command, as a badge. @param {any} call */
function stateOf(call) {
  if (call.exit_status === null) return el("span", { class: "badge failed" }, "still running");
  if (call.exit_status === undefined) return !call.ok && el("span", { class: "badge error" }, "failed");
  const kind = call.exit_status === 0 ? "" : "error";
  return el("span", { class: `badge ${kind}` }, shown(`exit status ${call.exit_status}`));
}

/**
 * Cuts a long output: its head, its tail, and the number of lines between them.
 * @param {string} text
 * @returns {[string, number, string]}
 */
function headAndTail(text) {
  const lines = text.replace(/\n$/, "").split("\n");
  const cuts = lines.some((line) => line.length > LONGEST_LINE);
  if (lines.length <= 2 * LINES_OF_END + 3 && !cuts) return [text, 0, ""];
  const brief = (part) => part.map((line) => line.slice(0, LONGEST_LINE)).join("\n");
  const left = Math.max(0, lines.length - 2 * LINES_OF_END);
  if (!left) return [brief(lines), 0, ""];
  return [brief(lines.slice(0, LINES_OF_END)), left, brief(lines.slice(-LINES_OF_END))];
}

/**
 * Puts a text into an element, its middle folded away where it is long.
 * @param {HTMLElement} body
 * @param {string} text
 */
function fillFolded(body, text) {
  const [head, left, tail] = headAndTail(text);
  const first = el("span", {}, shown(head));
  fill(body, first);
  if (!left && head.length >= text.length - 1) return body;
  const name = left ? `${counted(left, "line")} more` : "All of the long lines";
  const more = el("button", { type: "button", class: "terminal-more" }, `⋯ ${name}`);
  const rest = el("span", {}, shown(tail));
  more.addEventListener("click", () => {
    first.replaceChildren(...shown(text));
    more.remove();
    rest.remove();
  });
  fill(body, more, rest);
  return body;
}

/** The command with its prompt; input to a running command has another. @param {any} call */
function typed(call) {
  const { command, path } = call.arguments ?? {};
  const text = typeof command === "string" ? command : [call.function, path].filter(Boolean).join(" ");
  const place = typeof call.prompt === "string" ? call.prompt : "";
  const sign = place ? `${place} $ ` : call.prompt === "" ? "input > " : "";
  const prompt = el("span", { class: "terminal-prompt" }, shown(sign));
  return fillFolded(el("div", { class: "terminal-typed" }, prompt), text);
}

/** A call of a terminal's functions. @param {any} call */
export function terminalCall(call) {
  const { command, content } = call.arguments ?? {};
  const output = String(call.output ?? "");
  return el(
    "div",
    { class: "block" },
    el("div", { class: "text terminal", tabindex: "0" },
      typed(call),
      output && fillFolded(el("div", { class: "terminal-output" }), output),
      el("div", { class: "terminal-state" },
        stateOf(call),
        isNumber(call.left_out) && call.left_out > 0 &&
          el("span", { class: "badge failed" }, `${decimal(call.left_out, 0)} bytes left out`))),
    copyButton(typeof command === "string" ? command : output),
    content !== undefined && block(content, "code"),
  );
}

/** Paths by what became of them. @param {any} files @returns {Node | null} */
export function changedFiles(files) {
  const kinds = Object.keys(FILE_MARKS);
  if (!kinds.every((kind) => Array.isArray(files?.[kind]))) return null;
  const rows = kinds.flatMap((kind) => files[kind].map((path) =>
    el("li", { class: `file-${kind}` },
      el("span", { class: "file-mark", title: kind, "aria-label": kind }, FILE_MARKS[kind]), shown(path))));
  if (!rows.length) return el("p", { class: "quiet" }, "(no file)");
  const left = isNumber(files.left_out) && el("li", { class: "quiet" }, `and ${decimal(files.left_out, 0)} more`);
  return el("ul", { class: "text files" }, rows, left);
}

/**
 * Text that models and programs wrote. It is shown as it is, never interpreted; characters that
 * would not be seen, or that would move others about, are made visible.
 */

import { el, fill } from "./dom.js";
import { decimal } from "./format.js";

const FOLD_CHARACTERS = 1400;
const FOLD_LINES = 18;
const NAMES = {
  0x1b: "ESC",
  0x7f: "DEL",
  0xad: "SOFT HYPHEN",
  0x61c: "ARABIC LETTER MARK",
  0x200b: "ZERO WIDTH SPACE",
  0x200c: "ZERO WIDTH NON-JOINER",
  0x200d: "ZERO WIDTH JOINER",
  0x200e: "LEFT-TO-RIGHT MARK",
  0x200f: "RIGHT-TO-LEFT MARK",
  0x2028: "LINE SEPARATOR",
  0x2029: "PARAGRAPH SEPARATOR",
  0x202a: "LEFT-TO-RIGHT EMBEDDING",
  0x202b: "RIGHT-TO-LEFT EMBEDDING",
  0x202c: "POP DIRECTIONAL FORMATTING",
  0x202d: "LEFT-TO-RIGHT OVERRIDE",
  0x202e: "RIGHT-TO-LEFT OVERRIDE",
  0x2060: "WORD JOINER",
  0x2066: "LEFT-TO-RIGHT ISOLATE",
  0x2067: "RIGHT-TO-LEFT ISOLATE",
  0x2068: "FIRST STRONG ISOLATE",
  0x2069: "POP DIRECTIONAL ISOLATE",
  0xfeff: "ZERO WIDTH NO-BREAK SPACE",
};
// Controls except tab and newline, format characters, lone surrogates, separators and Hangul fillers.
// A joiner between two emoji, which makes one picture of them, stays.
const HIDDEN =
  /(?!(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\uFE0F])\u200D\p{Extended_Pictographic})(?![\t\n])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u034F\u115F\u1160\u17B4\u17B5\u180B-\u180F\u3164\uFFA0]/gu;

/** @param {string} character */
function symbol(character) {
  const code = character.codePointAt(0) ?? 0;
  if (code === 0x1b) return "⟨ESC⟩";
  return `⟨${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

/**
 * Cuts a text at the characters that are hidden.
 * @param {string} text
 * @returns {Array<[string, string]>} Pairs of plain text and the hidden character behind it.
 */
function cut(text) {
  const pieces = [];
  let from = 0;
  for (const match of text.matchAll(HIDDEN)) {
    pieces.push([text.slice(from, match.index), match[0]]);
    from = match.index + match[0].length;
  }
  pieces.push([text.slice(from), ""]);
  return pieces;
}

/**
 * Text for places that hold no elements, such as titles: hidden characters become symbols.
 * @param {any} value
 */
export function plain(value) {
  return cut(String(value ?? ""))
    .map(([text, hidden]) => text + (hidden && symbol(hidden)))
    .join("");
}

/**
 * Text as nodes, hidden characters as marked symbols.
 * @param {any} value
 * @returns {Node[]}
 */
export function shown(value) {
  const nodes = [];
  for (const [text, hidden] of cut(String(value ?? ""))) {
    if (text) nodes.push(document.createTextNode(text));
    if (!hidden) continue;
    const code = hidden.codePointAt(0) ?? 0;
    const hex = code.toString(16).toUpperCase().padStart(4, "0");
    const title = `U+${hex} ${NAMES[code] ?? ""}`.trim();
    nodes.push(el("span", { class: "hidden-character", title }, symbol(hidden)));
  }
  return nodes;
}

/** @param {any} value Text, or any JSON. */
export function asText(value) {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

/** @param {string} text @returns {number} Where to fold it; its length if it is not folded. */
function foldAt(text) {
  let end = Math.min(text.length, FOLD_CHARACTERS);
  let place = -1;
  for (let line = 0; line < FOLD_LINES; line += 1) {
    place = text.indexOf("\n", place + 1);
    if (place < 0) break;
  }
  if (place >= 0) end = Math.min(end, place);
  return text.length - end < 200 && place < 0 ? text.length : end;
}

/**
 * A button that copies a text.
 * @param {string | (() => string)} text
 * @param {string} [name]
 * @param {string} [title]
 * @returns {HTMLElement}
 */
export function copyButton(text, name = "Copy", title = "Copy the text unchanged") {
  const button = el("button", { type: "button", class: "copy", title }, name);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(typeof text === "string" ? text : text());
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not allowed";
    }
    setTimeout(() => (button.textContent = name), 1500);
  });
  return button;
}

/**
 * A block of text, folded where it is long, with a button that copies it.
 * @param {any} value
 * @param {string} [kind] A class.
 */
export function block(value, kind = "") {
  const text = asText(value) ?? "";
  if (text === "") return el("p", { class: "quiet" }, "(empty)");
  const end = foldAt(text);
  const body = el("pre", { class: `text ${kind}`, tabindex: "0" }, shown(text.slice(0, end)));
  const box = el("div", { class: "block" }, body, copyButton(text));
  if (end < text.length) {
    body.classList.add("folded");
    const more = el("button", { type: "button", class: "more", "aria-expanded": "false" });
    const name = () => `Show all ${decimal(text.length, 0)} characters`;
    more.textContent = name();
    more.addEventListener("click", () => {
      const folds = body.classList.toggle("folded");
      body.replaceChildren(...shown(folds ? text.slice(0, end) : text));
      more.textContent = folds ? name() : "Show less";
      more.setAttribute("aria-expanded", String(!folds));
    });
    fill(box, more);
  }
  return box;
}

/**
 * Something that is folded away until it is asked for; made only then.
 * @param {import("./dom.js").Child | import("./dom.js").Child[]} title
 * @param {() => Node} make
 */
export function folded(title, make) {
  const details = el("details", {}, el("summary", {}, title));
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) details.append(make());
  });
  return details;
}

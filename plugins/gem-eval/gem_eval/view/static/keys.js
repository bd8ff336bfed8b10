/** Keyboard shortcuts for everything that can be clicked. */

import { el } from "./dom.js";
import { go } from "./state.js";

const KEYS = [
  ["r  o  e  c", "runs of the folder, overview, episodes, compare"],
  ["/", "search"],
  ["j  k", "next and previous row"],
  ["Enter", "open the row"],
  ["n  p", "next and previous episode or page"],
  ["f  F", "next and previous episode that failed"],
  ["x  X", "next and previous turn with an error or a reward"],
  ["← →", "previous and next board of a game, or episode or page"],
  ["space", "play the game, and pause"],
  ["u", "back to the list"],
  ["t", "light or dark"],
  ["?", "this help"],
];

/** @param {string} rel */
function follow(rel) {
  const found = document.querySelector(`main a[rel=${rel}]`);
  if (found) found.click();
}

/** @param {number} step */
function moveRow(step) {
  const rows = [...document.querySelectorAll("main .row-link")];
  const at = rows.indexOf(document.activeElement);
  const next = rows[Math.min(rows.length - 1, Math.max(0, at < 0 ? 0 : at + step))];
  if (!next) return;
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

/** Shows or hides the help. */
function toggleHelp() {
  const open = document.querySelector("dialog.help");
  if (open) {
    open.remove();
    return;
  }
  const dialog = el("dialog", { class: "help", onclose: () => dialog.remove(), onclick: () => dialog.close() },
    el("h2", {}, "Keys"),
    el("dl", {}, KEYS.map(([keys, what]) => [el("dt", {}, el("kbd", {}, keys)), el("dd", {}, what)]).flat()));
  document.body.append(dialog);
  dialog.showModal();
}

const ACTIONS = {
  r: () => document.querySelector("#pages a[rel=home]")?.click(),
  o: () => go("overview"),
  e: () => go("episodes"),
  c: () => go("compare"),
  "/": () => document.getElementById("search")?.focus(),
  j: () => moveRow(1),
  k: () => moveRow(-1),
  n: () => follow("next"),
  p: () => follow("prev"),
  ArrowLeft: () => follow("prev"),
  ArrowRight: () => follow("next"),
  u: () => follow("up"),
  "?": toggleHelp,
};

/** What a key does: it presses the button that names it, or else has an action of its own. @param {string} key */
function actionOfKey(key) {
  const button = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
  return button ? () => button.click() : ACTIONS[key];
}

/** Listens to keys, except while the user types in a field and with modifiers such as Ctrl. */
export function listen() {
  addEventListener("keydown", (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (target.closest("input, select, textarea")) {
      if (event.key === "Escape") target.blur();
      return;
    }
    const scroller = event.key.startsWith("Arrow") && target.closest("pre, .scrolls, .board-grid");
    const isScrolling = scroller && scroller.scrollWidth > scroller.clientWidth;
    const isPressing = event.key === " " && target.closest("button, summary");
    const action = actionOfKey(event.key);
    if (!action || isScrolling || isPressing) return;
    event.preventDefault();
    action();
  });
}

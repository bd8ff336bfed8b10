/** Keyboard shortcuts for everything that can be clicked. */

import { el } from "./dom.js";
import { go } from "./state.js";

const KEYS = [
  ["o  e  c", "overview, episodes, compare"],
  ["/", "search"],
  ["j  k", "next and previous row"],
  ["Enter", "open the row"],
  ["← →", "previous and next episode or page"],
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
  o: () => go("overview"),
  e: () => go("episodes"),
  c: () => go("compare"),
  "/": () => document.getElementById("search")?.focus(),
  j: () => moveRow(1),
  k: () => moveRow(-1),
  ArrowLeft: () => follow("prev"),
  ArrowRight: () => follow("next"),
  u: () => follow("up"),
  t: () => document.querySelector("[data-key=t]")?.click(),
  "?": toggleHelp,
};

/** Listens to keys, except while the user types in a field and with modifiers such as Ctrl. */
export function listen() {
  addEventListener("keydown", (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (target.closest("input, select, textarea")) {
      if (event.key === "Escape") target.blur();
      return;
    }
    const isScrolling = event.key.startsWith("Arrow") && target.closest("pre, .scrolls");
    const action = ACTIONS[event.key];
    if (!action || isScrolling) return;
    event.preventDefault();
    action();
  });
}

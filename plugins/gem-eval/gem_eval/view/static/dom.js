/** Functions that build elements. Text is always inserted as text: nothing here parses HTML. */

import { counted } from "./format.js";

const FIRST = 40;
const SVG = "http://www.w3.org/2000/svg";

/**
 * @typedef {Node | string | number | null | undefined | false} Child
 * What can stand inside an element; nothing is shown for null, undefined and false.
 */

/**
 * Sets attributes and listeners: `onclick` and its like are functions, false and null are left out.
 * @param {Element} element
 * @param {Object<string, any>} attributes
 */
function setAttributes(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

/**
 * @param {string} tag
 * @param {Object<string, any>} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElement}
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  setAttributes(element, attributes);
  fill(element, ...children);
  return element;
}

/**
 * @param {string} tag
 * @param {Object<string, any>} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {SVGElement}
 */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  setAttributes(element, attributes);
  fill(element, ...children);
  return element;
}

/**
 * Puts children at the end of an element.
 * @param {Element} element
 * @param {...(Child | Child[])} children
 */
export function fill(element, ...children) {
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/**
 * A choice of one, as a row of buttons.
 * @param {string} label What is chosen, for those who do not see it.
 * @param {Array<[string, string]>} options Values and what they are called.
 * @param {string} chosen
 * @param {(value: string) => void} choose
 */
export function segments(label, options, chosen, choose) {
  return el(
    "div",
    { class: "segments", role: "group", "aria-label": label },
    options.map(([value, name]) =>
      el(
        "button",
        { type: "button", "aria-pressed": String(value === chosen), onclick: () => choose(value) },
        name,
      ),
    ),
  );
}

/** The entries of an object that have a value. @param {Object<string, any>} object */
export function present(object) {
  const entries = Object.entries(object);
  return Object.fromEntries(
    entries.filter(([, value]) => value !== null && value !== undefined && value !== ""),
  );
}

/**
 * A card with a heading.
 * @param {string} title
 * @param {Child} aside What stands at the end of the heading's line.
 * @param {...(Child | Child[])} children
 */
export function panel(title, aside, ...children) {
  return el(
    "section",
    { class: "panel" },
    el("div", { class: "panel-head" }, el("h2", {}, title), aside),
    ...children,
  );
}

/**
 * What is shown where there is nothing to show.
 * @param {string} title
 * @param {...(Child | Child[])} children
 */
export function empty(title, ...children) {
  return el("div", { class: "empty" }, el("p", { class: "empty-title" }, title), ...children);
}

/** A heading over a block. @param {string} name @param {...any} children */
export function labelled(name, ...children) {
  return el("div", { class: "labelled" }, el("h4", {}, name), ...children);
}

/**
 * A long list of cards, some at a time, and the button that adds more.
 * @param {any[]} items
 * @param {(item: any, at: number) => Node} make
 */
export function stretches(items, make) {
  const list = el("div", { class: "turns" });
  const more = el("button", { type: "button", class: "more more-turns" });
  let done = 0;
  const add = () => {
    const next = items.slice(done, done + FIRST);
    list.append(...next.map((item, at) => make(item, done + at)));
    done += next.length;
    const left = items.length - done;
    more.hidden = left <= 0;
    more.textContent = `Show the next ${Math.min(left, FIRST)} of ${counted(left, "turn")}`;
  };
  more.addEventListener("click", add);
  add();
  return [list, more];
}

/** A text for those who do not see the page. @param {Child} text */
export function unseen(text) {
  return el("span", { class: "unseen" }, text);
}

/** What a purchase was paid, and for what: `info.purchase`. */

import { el } from "./dom.js";
import { decimal, fixed, isNumber } from "./format.js";
import { thumbnail } from "./shop.js";
import { shown } from "./text.js";

/** Whether a value is a purchase as a shop grades it. @param {any} value */
export function isPurchase(value) {
  const { chosen, wanted } = value ?? {};
  const numbers = ["reward", "type", "attributes", "options"].every((name) => isNumber(value?.[name]));
  const lists = ["attributes", "options"].every((name) => Array.isArray(wanted?.[name]));
  return numbers && lists && chosen !== null && typeof chosen === "object" && typeof value.price === "boolean";
}

/** Whether a part was paid, as a badge. @param {number} hits @param {number} all */
function share(hits, all) {
  const kind = hits >= all ? "success" : hits > 0 ? "failed" : "error";
  return el("span", { class: `badge ${kind}` }, `${decimal(hits, 1)} of ${decimal(all, 0)}`);
}

/**
 * Values as chips. Each has a mark if it is known which ones were hit.
 * @param {any[]} values
 * @param {boolean[] | null} hits
 */
function marked(values, hits) {
  if (!values.length) return el("span", { class: "quiet" }, "(any)");
  return el("ul", { class: "chips" }, values.map((value, at) => el("li", {},
    el("span", { class: `chip${hits ? (hits[at] ? " hit" : " missed") : ""}` },
      hits && el("span", { role: "img", "aria-label": hits[at] ? "hit" : "missed" }, hits[at] ? "✓ " : "✗ "), shown(value)))));
}

/**
 * Which values were hit, as far as it can be told: all, none, or those that were taken exactly.
 * @param {any[]} wanted
 * @param {number} count How many were hit; similar values count too.
 * @param {any[]} taken
 */
function hitsOf(wanted, count, taken) {
  if (count === 0 || count === wanted.length) return wanted.map(() => count > 0);
  const exact = wanted.map((value) => taken.includes(value));
  return exact.filter(Boolean).length === count ? exact : null;
}

/** @param {any} id @param {Map<string, import("./shop.js").Product>} products */
function productName(id, products) {
  const title = products.get(id)?.title;
  return el("span", { class: "receipt-product" }, title && thumbnail(title),
    el("span", {}, title && shown(title), el("code", {}, shown(id))));
}

/** @param {string} name @param {any} wanted @param {any} bought Null if there is nothing to compare. @param {Node} paid */
function receiptRow(name, wanted, bought, paid) {
  return el("tr", {}, el("th", { scope: "row" }, name),
    el("td", { "data-name": "wanted", colspan: bought === null ? 2 : null }, wanted),
    bought !== null && el("td", { "data-name": "bought" }, bought), el("td", {}, paid));
}

/**
 * The receipt.
 * @param {any} purchase
 * @param {Map<string, import("./shop.js").Product>} products
 */
export function receipt(purchase, products) {
  const { wanted, reward, type } = purchase;
  const chosen = Object.entries(purchase.chosen);
  const taken = chosen.map(([, value]) => value);
  const parts = wanted.attributes.length + wanted.options.length + 1;
  const hits = [purchase.attributes, purchase.options, Number(purchase.price)];
  const limit = isNumber(wanted.price_upper) && wanted.price_upper > 0 ? `at most $${fixed(wanted.price_upper, 2)}` : "(any)";
  const bar = el("span", { class: `receipt-fill ${reward >= 1 ? "full" : ""}` });
  bar.style.width = `${Math.max(0, Math.min(1, reward)) * 100}%`;
  return el("section", { class: "receipt", "aria-label": "Receipt" },
    el("div", { class: "receipt-head" }, el("h4", {}, "Receipt"),
      el("span", { class: "receipt-bar", "aria-hidden": "true" }, bar),
      el("b", {}, fixed(reward, 2)), el("span", { class: "quiet" }, "of 1")),
    el("table", {},
      el("thead", {}, el("tr", {}, ["Part", "Wanted", "Bought", "Paid"].map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {},
        receiptRow("Kind of product", productName(wanted.asin, products), productName(purchase.asin, products), share(type, 1)),
        receiptRow("Attributes", marked(wanted.attributes, hitsOf(wanted.attributes, hits[0], [])), null, share(hits[0], wanted.attributes.length)),
        receiptRow("Options", marked(wanted.options, hitsOf(wanted.options, hits[1], taken)),
          chosen.length ? el("ul", { class: "chips" }, chosen.map(([name, value]) => el("li", {}, el("span", { class: "chip" }, shown(`${name}: ${value}`)))))
            : el("span", { class: "quiet" }, "(none chosen)"), share(hits[1], wanted.options.length)),
        receiptRow("Price", limit, shown(products.get(purchase.asin)?.price ?? ""), share(hits[2], 1)))),
    el("p", { class: "quiet" }, `${decimal(type, 1)} × (${hits.map((hit) => decimal(hit, 0)).join(" + ")}) / ${parts} = ${fixed(reward, 2)}`));
}

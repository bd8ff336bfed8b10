/** The pages of a shop, drawn from their pieces as a person would see them. */

import { el, unseen } from "./dom.js";
import { isNumber } from "./format.js";
import { plain, shown } from "./text.js";

const NAVIGATION = ["Back to Search", "< Prev", "Next >"];
const BUY = "Buy Now";
const PLACE = /^\w+:\/\/[^/]*\/(search_results|item_page|item_sub_page|done)\/([^/]*)/;
const REVIEWS = /\/\d+\/Reviews\/\{/;

/**
 * @typedef {{title: string, price: string}} Product
 * @typedef {import("./pages.js").Sight} Sight
 * @typedef {import("./pages.js").Piece} Piece
 * @typedef {{link: Piece, title: string, texts: string[]}} Card
 * @typedef {{box: boolean, title: string, texts: string[], navigation: Piece[], buttons: Piece[],
 *   cards: Card[], options: Array<{name: string, values: Piece[]}>}} Parts
 */

/** The name of a page and the id of its product, from the address. @param {string} url @returns {[string, string]} */
function placeOf(url) {
  const match = PLACE.exec(url);
  return match ? [match[1], match[2]] : ["", ""];
}

/** The pieces by what they are for. @param {Piece[]} pieces @returns {Parts} */
function partsOf(pieces) {
  const parts = { box: false, title: "", texts: [], navigation: [], buttons: [], cards: [], options: [] };
  const at = pieces.findIndex((one) => one.kind === "instruction");
  const own = pieces.filter((_, place) => place !== at && !(at > 0 && place === at - 1));
  for (const one of own) put(one, parts);
  return parts;
}

/** @param {Piece} one @param {Parts} parts */
function put(one, parts) {
  const card = parts.cards.at(-1);
  if (one.kind === "box") parts.box = true;
  else if (one.kind === "button") (NAVIGATION.includes(one.text) ? parts.navigation : parts.buttons).push(one);
  else if (one.kind === "link" || one.kind === "visited") parts.cards.push({ link: one, title: "", texts: [] });
  else if (one.kind === "option-name") parts.options.push({ name: one.text, values: [] });
  else if (one.kind === "option" || one.kind === "chosen") {
    if (!parts.options.length) parts.options.push({ name: "", values: [] });
    parts.options.at(-1).values.push(one);
  } else if (one.kind === "title") (card ?? parts).title = one.text;
  else (card ?? parts).texts.push(one.text);
}

/** What the pages of an episode say of its products, by id. @param {Sight[]} sights @returns {Map<string, Product>} */
export function productsOf(sights) {
  const found = new Map();
  for (const { url, pieces } of sights) {
    if (!pieces) continue;
    const [place, id] = placeOf(url);
    const { title, texts, cards } = partsOf(pieces);
    if (place === "item_page") found.set(id, { title, price: valueOf(texts[0] ?? "") });
    for (const card of cards) {
      if (!found.has(card.link.text)) found.set(card.link.text, { title: card.title, price: card.texts[0] ?? "" });
    }
  }
  return found;
}

/** The value in a text such as "Price: $9.50". @param {string} text */
function valueOf(text) {
  return text.replace(/^\w+: /, "");
}

/** Something that can be clicked, with a ring if it was. @param {Piece} one @param {string} kind A class. */
function control(one, kind) {
  const isChosen = one.kind === "chosen";
  return el("span", { class: `${kind}${isChosen ? " chosen" : ""}${one.isPressed ? " pressed" : ""}` },
    shown(one.text), isChosen && unseen(" (chosen)"), one.isPressed && unseen(" (clicked)"));
}

/** A coloured tile in place of a picture: the same title has the same colour. @param {string} title */
export function thumbnail(title) {
  let hash = 2166136261;
  for (const letter of title) hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 16777619);
  const words = title.match(/[\p{L}\p{N}]+/gu) ?? ["?"];
  const letters = words.slice(0, 2).map((word) => [...word][0].toUpperCase()).join("");
  const tile = el("div", { class: "thumbnail", "aria-hidden": "true" }, el("span", {}, shown(letters)));
  tile.style.setProperty("--hue", String((hash >>> 8) % 360));
  return tile;
}

/** A rating as stars; unchanged if it is not a number from 0 to 5. @param {string} rating */
function stars(rating) {
  const value = rating === "" ? NaN : Number(rating);
  if (!isNumber(value) || value < 0 || value > 5) return el("span", { class: "quiet" }, "Rating: ", shown(rating));
  const full = el("span", { class: "stars-full" });
  full.style.width = `${value * 20}%`;
  return el("span", { class: "rating" },
    el("span", { class: "stars", role: "img", "aria-label": `${value} of 5 stars` }, full), el("span", { class: "quiet" }, shown(rating)));
}

/** @param {Parts} parts @param {Sight} sight */
function searchPage({ buttons }, { action }) {
  const words = action?.name === "search" ? action.argument : null;
  return el("div", { class: "shop-search" },
    el("p", { class: "shop-logo" }, el("span", { "aria-hidden": "true" }), "WebShop"),
    el("div", { class: "shop-box" },
      el("span", { class: `shop-field${words === null ? "" : " typed"}` },
        words === null ? "Search for a product" : [unseen("Searched: "), ...shown(words)]),
      buttons.map((one) => control({ ...one, isPressed: one.isPressed || words !== null }, "shop-button buy"))));
}

/** @param {Card} card */
function productCard({ link, title, texts }) {
  return el("li", { class: `shop-card${link.isPressed ? " pressed" : ""}` },
    thumbnail(title),
    el("div", { class: "shop-card-text" },
      el("span", { class: "shop-card-title", title: plain(title) }, shown(title)),
      texts.map((text) => el("b", {}, shown(text))),
      el("span", { class: `shop-link${link.kind === "visited" ? " visited" : ""}` }, shown(link.text),
        link.kind === "visited" && el("span", { class: "quiet" }, " opened before"),
        link.isPressed && unseen(" (clicked)"))));
}

/** @param {Parts} parts */
function resultsPage({ cards, texts }) {
  return [
    el("p", { class: "quiet" }, texts.flatMap(shown)),
    cards.length ? el("ol", { class: "shop-cards" }, cards.map(productCard))
      : el("p", { class: "shop-none" }, "No products"),
  ];
}

/** @param {{name: string, values: Piece[]}} option */
function optionChips({ name, values }) {
  return el("div", { class: "shop-option" },
    el("h5", {}, shown(name)),
    el("ul", { class: "chips", "aria-label": plain(name) }, values.map((value) => el("li", {}, control(value, "chip")))));
}

/** @param {Parts} parts */
function productPage({ title, texts, options, buttons }) {
  const [price = "", rating = "", ...more] = texts.map(valueOf);
  return el("div", { class: "shop-product" },
    thumbnail(title),
    el("div", { class: "shop-details" },
      el("h4", {}, shown(title)),
      stars(rating),
      el("p", { class: "shop-price" }, shown(price)),
      more.map((text) => el("p", {}, shown(text))),
      options.map(optionChips),
      el("div", { class: "shop-buttons" },
        buttons.map((one) => control(one, one.text === BUY ? "shop-button buy" : "shop-button")))));
}

/** @param {Parts} parts @param {Sight} sight @param {Map<string, Product>} products */
function detailsPage({ texts, buttons }, { url }, products) {
  const id = placeOf(url)[1];
  const title = products.get(id)?.title ?? id;
  return el("div", { class: "shop-product small" },
    thumbnail(title),
    el("div", { class: "shop-details" },
      el("h4", {}, shown(title)),
      REVIEWS.test(url) && texts.length % 3 === 0 ? reviewList(texts)
        : texts.length > 1 ? el("ul", {}, texts.map((text) => el("li", {}, shown(text))))
        : el("p", { class: "shop-prose" }, texts.length ? shown(texts[0]) : el("span", { class: "quiet" }, "(nothing here)")),
      buttons.map((one) => control(one, "shop-button"))));
}

/** @param {string[]} texts Of each review the title, the stars and the text. */
function reviewList(texts) {
  if (!texts.length) return el("p", { class: "quiet" }, "(no reviews)");
  const starts = texts.map((_, at) => at).filter((at) => at % 3 === 0);
  return el("ul", { class: "reviews" }, starts.map((at) => el("li", {},
    el("div", { class: "review-head" }, el("b", {}, shown(texts[at])), stars(texts[at + 1])),
    el("p", { class: "shop-prose" }, shown(texts[at + 2])))));
}

/** @param {Parts} parts */
function donePage({ title, texts }) {
  return el("div", { class: "shop-done" },
    el("h4", {}, shown(title)),
    texts.map((text, at) => el("p", { class: at === texts.length - 1 ? "shop-score" : "quiet" }, shown(text))));
}

/** A page of no known kind: its pieces one below the other. @param {Parts} parts */
function otherPage({ title, texts, cards, options, buttons }) {
  return [title && el("h4", {}, shown(title)), texts.map((text) => el("p", {}, shown(text))),
    cards.length > 0 && el("ol", { class: "shop-cards" }, cards.map(productCard)),
    options.map(optionChips), el("div", { class: "shop-buttons" }, buttons.map((one) => control(one, "shop-button")))].flat();
}

const PLACES = { search_results: resultsPage, item_page: productPage, item_sub_page: detailsPage, done: donePage };

/**
 * The content of a page.
 * @param {Sight} sight
 * @param {Map<string, Product>} products What is known of the products.
 */
export function pageContent(sight, products) {
  if (!sight.pieces) return [el("pre", { class: "text", tabindex: "0" }, shown(sight.text))];
  const parts = partsOf(sight.pieces);
  const draw = parts.box ? searchPage : PLACES[placeOf(sight.url)[0]] ?? otherPage;
  const isDone = draw === donePage;
  return [
    sight.instruction && !isDone && el("p", { class: "shop-wish" }, unseen("The customer says: "), shown(sight.instruction)),
    parts.navigation.length > 0 && el("div", { class: "shop-navigation" }, parts.navigation.map((one) => control(one, "shop-button plain"))),
    draw(parts, sight, products),
  ].flat();
}

/** An episode on web pages, as a person would have seen it in a browser. */

import { el, stretches, unseen } from "./dom.js";
import { pageContent, productsOf } from "./shop.js";
import { sightsOf } from "./pages.js";
import { isPurchase, receipt } from "./receipt.js";
import { block, folded, plain, shown } from "./text.js";
import { observation, turnAction, turnHead } from "./turns.js";

const SCHEME = /^https?:\/\//;

/**
 * A window of a browser with a page.
 * @param {import("./pages.js").Sight} sight
 * @param {string} name What it is called, for those who do not see it.
 * @param {Map<string, import("./shop.js").Product>} products
 */
function browserWindow(sight, name, products) {
  const { purchase } = sight.info;
  return el("section", { class: "browser", "aria-label": name },
    el("div", { class: "browser-bar" },
      el("span", { class: "browser-dots", "aria-hidden": "true" }, el("i"), el("i"), el("i")),
      el("span", { class: "browser-url", title: plain(sight.url) }, unseen("Address: "), shown(sight.url.replace(SCHEME, "")))),
    el("div", { class: "browser-page" },
      pageContent(sight, products),
      isPurchase(purchase) && receipt(purchase, products)));
}

/** What the agent does on the page. @param {import("./pages.js").Sight} sight */
function actionLine({ action, isRefused }) {
  const names = { search: "Searches for", click: "Clicks" };
  return el("p", { class: "sight-action" },
    action ? [names[action.name] ?? shown(action.name), " ", el("b", {}, shown(action.argument))] : "No action",
    isRefused && el("span", { class: "badge error" }, "not possible on this page"));
}

/** The page of a turn, and what the agent did there. */
function turnSight(sight, turn, at, look, products) {
  return el("article", { class: "turn", id: `turn-${at + 1}` },
    turnHead(turn, at, look),
    el("div", { class: "sight" },
      browserWindow(sight, `Page of turn ${at + 1}`, products),
      el("div", { class: "sight-aside" },
        actionLine(sight),
        turnAction(turn),
        folded("Observation as text", () => observation(turn.observation)),
        folded("Info", () => block(turn.info, "code")))));
}

/** The whole visit. @param {any} episode @param {any} look */
export function browser(episode, look) {
  const sights = sightsOf(episode);
  const products = productsOf(sights);
  const last = sights.length - 1;
  return [
    ...stretches(episode.turns, (turn, at) => turnSight(sights[at], turn, at, look, products)),
    el("article", { class: "turn", id: "end" },
      el("div", { class: "turn-head" }, el("h3", {}, "At the end")),
      el("div", { class: "sight" },
        browserWindow(sights[last], "Last page", products),
        el("div", { class: "sight-aside" }, folded("Observation as text", () => observation(episode.final_observation))))),
  ];
}

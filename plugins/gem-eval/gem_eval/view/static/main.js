/** Shows the page that the URL names, and listens to the keyboard. */

import { comparePage } from "./compare.js";
import { el, empty } from "./dom.js";
import { episodePage } from "./episode.js";
import { counted } from "./format.js";
import { homePage } from "./home.js";
import { listen } from "./keys.js";
import { showTurn } from "./marks.js";
import { overviewPage } from "./overview.js";
import { source } from "./source.js";
import { RUN_NAMES, link, place, runsUrl } from "./state.js";
import { tablePage } from "./table.js";
import { trainingPage } from "./training.js";
import { plain } from "./text.js";

const PAGES = {
  runs: homePage,
  training: trainingPage,
  overview: overviewPage,
  episodes: tablePage,
  episode: episodePage,
  compare: comparePage,
};
const TITLES = { runs: "Runs", training: "Training", overview: "Overview", episodes: "Episodes", compare: "Compare" };
const LOOK_AGAIN_MS = 5000;
const main = document.getElementById("main");
let turn = 0;
let before = "";
let known = -1;
let held = null;
let trained = "";
let isHome = false;
let runsKnown = null;
let latest = "";

/** A place without the turn, of which a link to another turn of the same episode changes nothing. @param {import("./state.js").Place} here */
function withoutTurn({ page, id, choices: { turn: _, ...rest } }) {
  return JSON.stringify([page, id, rest]);
}

/** Whether the list of runs is shown. */
function isList() {
  return isHome && !RUN_NAMES.length;
}

/** Where a page that cannot be shown leads. */
function wayOut() {
  const runs = isHome && el("a", { href: runsUrl([]) }, "Runs");
  return el("p", {}, runs, runs && !isList() && " · ", !isList() && el("a", { href: link("overview") }, "Overview"));
}

/** Shows the current place. */
async function show() {
  turn += 1;
  const mine = turn;
  const here = place();
  const wanted = here.page === "episode" && Number(here.choices.turn);
  if (wanted && withoutTurn(here) === latest && !main.inert && showTurn(wanted)) return;
  const page = Object.hasOwn(PAGES, here.page) ? PAGES[here.page] : null;
  if (!main.inert) held = document.activeElement?.id || document.activeElement?.getAttribute("name");
  // The links still belong to the previous place: a click would lose the latest choice.
  main.inert = true;
  let nodes;
  try {
    nodes = page ? await page(here) : [empty(
      "There is no such page",
      wayOut(),
    )];
  } catch (error) {
    nodes = [empty(
      "This page cannot be shown",
      el("p", {}, plain(error.message)),
      wayOut(),
    )];
  }
  if (mine !== turn) return;
  main.inert = false;
  main.replaceChildren(...nodes);
  navigation(here.page === "episode" ? "episodes" : here.page);
  const names = RUN_NAMES.length ? `${plain(RUN_NAMES.join(", "))} · ` : "";
  document.title = `${TITLES[here.page] ?? plain(here.id)} · ${names}gem-core`;
  const where = `${here.page}/${here.id}`;
  if (where !== before) {
    scrollTo(0, 0);
    main.focus({ preventScroll: true });
  } else if (held && document.activeElement === document.body) {
    (document.getElementById(held) ?? main.querySelector(`[name="${CSS.escape(held)}"]`))?.focus();
  }
  before = where;
  latest = withoutTurn(here);
  if (wanted) showTurn(wanted);
}

/** @param {string} chosen */
function navigation(chosen) {
  const isThere = { runs: isHome, training: !isList() && trained };
  const pages = Object.entries(TITLES).filter(([page]) => isThere[page] ?? !isList());
  const links = pages.map(([page, title]) => {
    const home = page === "runs";
    const href = home ? runsUrl([]) : link(page);
    return el("a", { href, rel: home ? "home" : null, "aria-current": page === chosen ? "page" : null }, title);
  });
  document.getElementById("pages").replaceChildren(...links);
}

/** Dark or light: the system's setting, until the user chooses. */
function themeButton() {
  const button = el(
    "button",
    { type: "button", class: "icon", title: "Light or dark (t)", "aria-label": "Light or dark" },
    "◐",
  );
  const chosen = () => document.documentElement.dataset.theme;
  const set = (theme) => {
    document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem("gem-theme", theme);
    } catch {
      // Without storage the choice is lost with the page.
    }
  };
  try {
    const stored = localStorage.getItem("gem-theme");
    if (stored === "dark" || stored === "light") document.documentElement.dataset.theme = stored;
  } catch {
    // As above.
  }
  button.addEventListener("click", () => {
    const isDark = chosen() ? chosen() === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    set(isDark ? "light" : "dark");
  });
  button.dataset.key = "t";
  return button;
}

/** Offers to load the episodes that a growing run has added; curves grow by themselves. */
async function lookAgain() {
  try {
    const { episodes, training, runs } = await source.size();
    if (isList()) {
      // A list that is typed into stays as it is, so that nothing that was typed is lost.
      if (runs !== runsKnown && !document.activeElement?.matches("main input:not([type=checkbox])")) {
        runsKnown = runs;
        show();
      }
      setTimeout(lookAgain, LOOK_AGAIN_MS);
      return;
    }
    const isCurves = place().page === "training";
    if (training !== trained) {
      trained = training;
      if (isCurves) show();
      else navigation(place().page);
    }
    if (isCurves) known = episodes;
    else if (known >= 0 && episodes !== known) offer(episodes - known, episodes);
    else known = episodes;
  } catch {
    // The server has stopped: the page stays as it is.
  }
  setTimeout(lookAgain, LOOK_AGAIN_MS);
}

/** @param {number} added @param {number} episodes */
function offer(added, episodes) {
  const tools = document.getElementById("tools");
  tools.querySelector(".fresh")?.remove();
  const button = el(
    "button",
    { type: "button", class: "fresh" },
    `${counted(added, "new episode")}: show`,
  );
  button.addEventListener("click", () => {
    known = episodes;
    button.remove();
    show();
  });
  tools.prepend(button);
}

/** Shows the first page: a list of runs, or the curves of a training run. */
async function start() {
  try {
    const known = await source.size();
    trained = known.training;
    isHome = known.home === true;
    runsKnown = known.runs;
  } catch {
    // A link may name a run that does not exist.
    isHome = RUN_NAMES.length > 0;
  }
  if (isHome) document.querySelector(".brand")?.setAttribute("href", runsUrl([]));
  if (isList() && !location.hash) history.replaceState(null, "", link("runs"));
  else if (trained && !location.hash) history.replaceState(null, "", link("training"));
  show();
  if (source.isLive) lookAgain();
}

document.getElementById("tools").append(themeButton());
listen();
addEventListener("hashchange", show);
start();

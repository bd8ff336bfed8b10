/** The overview: figures by agent and environment, and over time. */

import { el, empty, panel, segments, unseen } from "./dom.js";
import { compact, counted, decimal, duration, fixed, isNumber, percent, range } from "./format.js";
import { runHeads } from "./head.js";
import { bars, curve, histogram, legend, stack, tint } from "./plots.js";
import { source } from "./source.js";
import { go, link } from "./state.js";
import { plain, shown } from "./text.js";

const FIRST_ENVS = 12;
const TIME_PARTS = ["setup", "queue", "model", "agent", "env"];

/** @param {string} name @param {string} value @param {any} more @param {string | null} [url] */
export function card(name, value, more, url = null) {
  const inside = [
    el("span", { class: "card-name" }, name),
    el("span", { class: "card-value" }, value),
    el("span", { class: "card-more" }, more),
  ];
  return url ? el("a", { class: "card", href: url }, inside) : el("div", { class: "card" }, inside);
}

/** @param {any} totals @param {any[]} errors @param {string} env */
function cards(totals, errors, env) {
  const boundaries = new Map();
  for (const row of errors) {
    boundaries.set(row.boundary, (boundaries.get(row.boundary) ?? 0) + row.episodes);
  }
  const kinds = [...boundaries].map(([name, count]) => `${plain(name)} ${count}`).join(", ");
  const tokens = (totals.prompt_tokens ?? 0) + (totals.completion_tokens ?? 0);
  const each = totals.episodes || 1;
  return el(
    "div",
    { class: "cards" },
    card(
      "Episodes",
      compact(totals.episodes),
      `${compact(totals.tasks)} task${totals.tasks === 1 ? "" : "s"}`,
      link("episodes", { env }),
    ),
    card(
      "Success",
      percent(totals.success?.mean, 1),
      range(totals.success, (value) => percent(value, 1)) || "not scored",
    ),
    card(
      "Mean return",
      fixed(totals.return?.mean, 3),
      range(totals.return, (value) => fixed(value, 3)),
    ),
    card("Turns per episode", decimal(totals.turns / each, 1), `${compact(totals.turns)} in total`),
    totals.tool_calls > 0 &&
      card("Tool calls", compact(totals.tool_calls), `${compact(totals.tool_failures)} failed`),
    tokens > 0 &&
      card(
        "Tokens",
        compact(tokens),
        `${compact(totals.prompt_tokens)} in, ${compact(totals.completion_tokens)} out`,
      ),
    card("Time per episode", duration(totals.seconds / each), `${duration(totals.seconds)} in total`),
    isNumber(totals.cost) && card(
      "Cost",
      decimal(totals.cost, 2),
      `${decimal((totals.cost / each) * 1000, 2)} for 1,000 episodes`,
    ),
    card(
      "Errors",
      compact(totals.errors),
      totals.errors ? kinds : "none",
      totals.errors ? link("episodes", { env, outcome: "error" }) : null,
    ),
  );
}

/** @param {any} found @param {string} env */
function seriesTable(found, env) {
  const heads = [unseen("agent"), "episodes", "success", unseen("95 % interval"), "return", "turns", "tokens", "time", "errors"];
  const row = (figures) => {
    const one = found.series.find((series) => series.series === figures.series);
    const n = figures.episodes;
    return el(
      "tr",
      {},
      el("th", { scope: "row" },
        el("a", { href: link("episodes", { env, series: one.series }) },
          el("span", { class: `dot ${tint(one.series)}` }), shown(one.label))),
      el("td", {}, compact(n)),
      el("td", {}, percent(figures.success?.mean, 1)),
      el("td", { class: "quiet left" }, range(figures.success, (value) => percent(value, 1))),
      el("td", {}, fixed(figures.return?.mean, 3)),
      el("td", {}, decimal(figures.turns / n, 1)),
      el(
        "td",
        {},
        isNumber(figures.completion_tokens) ? compact(figures.completion_tokens / n) : "–",
      ),
      el("td", {}, duration(figures.seconds / n)),
      el("td", { class: figures.errors ? "bad" : "" }, compact(figures.errors)),
    );
  };
  return el(
    "div",
    { class: "scrolls", tabindex: "0", role: "region", "aria-label": "Figures by agent" },
    el(
      "table",
      { class: "figures" },
      el("thead", {}, el("tr", {}, heads.map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, found.by_series.map(row)),
    ),
  );
}

/** @param {any} found @param {Object<string, string>} choices */
function successByEnv(found, choices) {
  const names = [...new Set(found.by_env.map((row) => row.env_id))];
  const most = choices.all === "1" ? names.length : FIRST_ENVS;
  const rows = names.slice(0, most).map((env) => ({
    name: el("a", { href: link("episodes", { env }), title: plain(env) }, shown(env)),
    bars: found.by_env
      .filter((row) => row.env_id === env)
      .map((row) => {
        const label = found.series.find((one) => one.series === row.series).label;
        const interval = range(row.success, (value) => percent(value, 1));
        const text = row.success ? `${percent(row.success.mean, 1)} (${interval})` : "not scored";
        const hint = `${plain(label)}: ${text}, ${counted(row.episodes, "episode")}`;
        return { series: row.series, value: row.success, hint };
      }),
  }));
  const more = names.length > most &&
    el("button", { type: "button", class: "more", onclick: () => go("overview", { ...choices, all: "1" }, true) },
      `Show all ${names.length} environments`);
  return panel(
    "Success by environment",
    el("span", { class: "quiet" }, "with 95 % intervals"),
    found.series.length > 1 && legend(found.series, shown),
    bars(rows),
    more,
  );
}

/** @param {any} found */
function timePanel(found) {
  const longest = Math.max(...found.times.map((row) => TIME_PARTS.reduce(
    (sum, part) => sum + row[part],
    0,
  )));
  const names = {
    setup: "setup",
    queue: "queue",
    model: "model",
    agent: "agent, else",
    env: "environment",
  };
  const used = TIME_PARTS.filter((part) => found.times.some((row) => row[part] > longest * 1e-4));
  return panel(
    "Time by part",
    el("span", { class: "quiet" }, "mean of an episode"),
    el(
      "ul",
      { class: "legend" },
      used.map((part) => el("li", {}, el("span", { class: `dot part ${part}` }), names[part])),
    ),
    found.times.map((row) => {
      const parts = TIME_PARTS.map((part) => /** @type {[string, number]} */ ([part, row[part]]));
      const whole = parts.reduce((sum, [, size]) => sum + size, 0);
      const label = found.series.find((one) => one.series === row.series).label;
      const bar = stack(parts, longest);
      bar.title = parts
        .filter(([, size]) => size > 0)
        .map(([part, size]) => `${names[part]} ${duration(size)}`)
        .join(", ");
      return el(
        "div",
        { class: "time-row" },
        el("span", { class: "time-name" }, shown(label)),
        bar,
        el("span", { class: "track-value" }, duration(whole)),
      );
    }),
  );
}

/** @param {any} found */
function errorPanel(found) {
  return panel(
    "Errors",
    el("a", { href: link("episodes", { outcome: "error", env: found.env }) }, "All of them"),
    el(
      "ul",
      { class: "errors" },
      found.errors.map((row) =>
        el("li", {},
          el("span", { class: "count" }, compact(row.episodes)),
          el("span", { class: "badge error" }, shown(row.boundary)),
          el(
            "span",
            { class: "error-what" },
            el("b", {}, shown(row.type)),
            " ",
            shown(String(row.message ?? "").slice(0, 160)),
          ),
        ),
      ),
    ),
  );
}

/** @param {any} found @param {Object<string, string>} choices */
function overTime(found, choices) {
  const scored = found.curve.some((point) => point.success !== null);
  const what = choices.curve === "return" || !scored ? "return" : "success";
  const enough = Math.max(...found.curve.map((point) => point.bin)) >= 1;
  const isMixed = !found.env && found.envs.length > 1;
  return panel(
    "Over time",
    scored && segments("Quantity", [["success", "Success"], ["return", "Return"]], what,
      (value) => go("overview", { ...choices, curve: value === "success" ? "" : value }, true)),
    found.series.length > 1 && legend(found.series, shown),
    enough ? curve(found.curve, what) : empty(
      "Too few episodes",
      el("p", {}, `A curve needs at least 50 episodes${isMixed ? ", and two of each environment" : ""}.`),
    ),
    enough && isMixed && el("p", { class: "note" }, "Each point has the same share of the episodes of every environment."),
  );
}

/**
 * @param {Array<{env_id: string, episodes: number}>} envs
 * @param {string} chosen
 * @param {(env: string) => void} choose
 */
export function envChoice(envs, chosen, choose) {
  return el(
    "select",
    { "aria-label": "Environment", onchange: (event) => choose(event.target.value) },
    el("option", { value: "" }, "All environments"),
    envs.map((row) =>
      el(
        "option",
        { value: row.env_id, selected: row.env_id === chosen },
        `${plain(row.env_id)} (${compact(row.episodes)})`,
      ),
    ),
  );
}

/** The page. @param {import("./state.js").Place} place @returns {Promise<Node[]>} */
export async function overviewPage({ choices }) {
  const found = await source.overview(choices.env);
  const env = found.env;
  if (!found.envs.length) {
    return [empty("No episodes yet", el("p", {}, "They appear here when they end."))];
  }
  const title = el(
    "div",
    { class: "title-row" },
    el(
      "h1",
      {},
      found.runs.length <= 3
        ? shown(found.runs.map((run) => run.label).join(" · "))
        : counted(found.runs.length, "run"),
    ),
    found.envs.length > 1 && envChoice(
      found.envs,
      env,
      (value) => go("overview", { ...choices, env: value }),
    ),
  );
  if (!found.totals) return [title, empty("No episodes of this environment")];
  const isOne = found.series.length === 1;
  return [
    title,
    cards(found.totals, found.errors, env),
    runHeads(found.runs),
    !isOne && panel("Agents", null, seriesTable(found, env)),
    el(
      "div",
      { class: "panels" },
      successByEnv(found, choices),
      overTime(found, choices),
      found.returns && panel(
        "Returns",
        el("span", { class: "quiet" }, "share of episodes"),
        !isOne && legend(found.series, shown),
        histogram(found.returns, found.series, "return of an episode"),
      ),
      found.turns && panel(
        "Turns",
        el("span", { class: "quiet" }, "share of episodes"),
        !isOne && legend(found.series, shown),
        histogram(found.turns, found.series, "turns of an episode"),
      ),
      timePanel(found),
      found.errors.length > 0 && errorPanel(found),
    ),
  ].filter(Boolean);
}

/**
 * The current place: the page and its choices, all in the URL's fragment. Of a folder of runs, the
 * runs that are shown are in the URL's query: `?run=NAME`, once for each.
 */

import { present } from "./dom.js";

/**
 * @typedef {{page: string, id: string, choices: Object<string, string>}} Place
 */

/** The runs of a folder that the URL names. */
export const RUN_NAMES = new URLSearchParams(location.search).getAll("run");

/**
 * The URL of runs of a folder; without any, that of the list of runs.
 * @param {string[]} names
 * @param {string} [fragment]
 */
export function runsUrl(names, fragment = "") {
  const query = new URLSearchParams(names.map((name) => ["run", name])).toString();
  return `${location.pathname}${query && `?${query}`}${fragment}`;
}

/** @returns {Place} The place that the URL names. */
export function place() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  const [page, id = ""] = path.split("/");
  return { page: page || "overview", id, choices: Object.fromEntries(new URLSearchParams(query)) };
}

/**
 * The URL of a place; choices that are empty are left out.
 * @param {string} page
 * @param {Object<string, any>} [choices]
 */
export function link(page, choices = {}) {
  const kept = Object.entries(present(choices));
  const query = new URLSearchParams(kept.map(([name, value]) => [name, String(value)])).toString();
  return `#/${page === "overview" ? "" : page}${query && `?${query}`}`;
}

/**
 * Goes to a place.
 * @param {string} page
 * @param {Object<string, any>} [choices]
 * @param {boolean} [replaces] Whether the way back skips the place that one was at.
 */
export function go(page, choices = {}, replaces = false) {
  const url = link(page, choices);
  if (url === (location.hash || "#/")) return;
  if (!replaces) {
    location.hash = url;
    return;
  }
  history.replaceState(null, "", url);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

/** The choices that select episodes and their order. */
export const FILTERS = [
  "env", "series", "source", "step", "evaluation", "outcome", "low", "high", "q", "sort", "desc",
];

/**
 * The series that can play the same tasks: all but the steps of training runs with evaluations.
 * @param {any[]} series
 */
export function comparable(series) {
  const evaluated = new Set(series.filter((one) => one.evaluation).map((one) => one.source));
  return series.filter((one) => one.evaluation || !evaluated.has(one.source));
}

/** @param {Object<string, string>} choices */
export function filtersOf(choices) {
  return Object.fromEntries(FILTERS.filter((name) => choices[name]).map((name) => [name, choices[name]]));
}

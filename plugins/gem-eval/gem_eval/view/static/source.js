/**
 * The source of the data: the server, or the page itself if it was written as one file.
 * Both have the same methods, which return promises.
 */

import { withObservations } from "./observations.js";
import { RUN_NAMES } from "./state.js";

const EMBEDDED_SORTS = {
  number: (row) => row.number,
  env: (row) => row.env_id,
  agent: (row) => row.agent,
  outcome: (row) => row.outcome,
  return: (row) => row.return,
  turns: (row) => row.turns,
  tools: (row) => row.tool_calls,
  tokens: (row) => row.completion_tokens ?? 0,
  seconds: (row) => row.seconds,
  index: (row) => row.index,
};

/** The content of an answer. @param {Response} answer */
async function answered(answer) {
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error ?? answer.statusText);
  return found;
}

class ServerSource {
  isLive = true;

  /** @param {string} path @param {Object<string, any>} [given] */
  async ask(path, given = {}) {
    const kept = Object.entries(given).filter(([, value]) => value !== undefined && value !== "");
    const runs = RUN_NAMES.map((name) => ["run", name]);
    return answered(await fetch(`/api/${path}?${new URLSearchParams([...kept, ...runs])}`));
  }

  runs() {
    return this.ask("runs");
  }

  /** Adds tags to a run, and removes others. @param {{run: string, add?: string[], remove?: string[]}} given */
  async changeTags(given) {
    const headers = { "Content-Type": "application/json" };
    return answered(await fetch("/api/tags", { method: "POST", headers, body: JSON.stringify(given) }));
  }

  size() {
    return this.ask("size");
  }

  training(every = "") {
    return this.ask("training", { every });
  }

  overview(env = "") {
    return this.ask("overview", { env });
  }

  episodes(query) {
    return this.ask("episodes", query);
  }

  async episode(id, query) {
    const found = await this.ask("episode", { ...query, id });
    return { ...found, episode: withObservations(found.episode) };
  }

  tasks(a, b, query) {
    return this.ask("tasks", { ...query, a, b });
  }
}

const NEIGHBOURS = ["previous", "next", "previous_failed", "next_failed", "place", "total"];

class EmbeddedSource {
  isLive = false;

  /** @param {HTMLElement} data */
  constructor(data) {
    Object.assign(this, JSON.parse(data.textContent ?? "{}"));
    this.entries = [...document.querySelectorAll("script.episode")].map((script) =>
      JSON.parse(script.textContent ?? "{}"),
    );
    for (const { episode } of this.entries) withObservations(episode);
    this.note = { shown: this.entries.length, total: this.total, written: this.written };
  }

  async size() {
    return { episodes: this.total, training: this.state };
  }

  /** The curves, with the numbers of the episodes that are in this file. */
  async training() {
    const place = (row) => `${row.source} ${row.step} ${row.evaluation}`;
    const counts = new Map();
    for (const { row } of this.entries) counts.set(place(row), (counts.get(place(row)) ?? 0) + 1);
    const logged = this.curves?.logged.map((row) => ({ ...row, episodes: counts.get(place(row)) ?? 0 }));
    return this.curves && { ...this.curves, logged };
  }

  async overview(env = "") {
    return this.overviews[env] ?? this.overviews[""];
  }

  async episodes(query) {
    const found = this.select(query);
    const from = Number(query.offset ?? 0);
    const rows = found.slice(from, from + Number(query.limit ?? 50)).map((entry) => entry.row);
    return { total: found.length, rows };
  }

  async episode(id, query) {
    const entry = this.entries.find((candidate) => candidate.row.id === id);
    if (!entry) throw new Error(`The episode ${id} is not in this file, which has only some episodes.`);
    const found = this.select(query);
    const at = found.indexOf(entry);
    if (at < 0) return { ...entry, ...Object.fromEntries(NEIGHBOURS.map((name) => [name, null])) };
    const idOf = (candidate) => candidate?.row.id ?? null;
    const hasFailed = ({ row }) => row.outcome === "failed" || row.outcome === "error";
    return {
      ...entry,
      previous: idOf(found[at - 1]),
      next: idOf(found[at + 1]),
      previous_failed: idOf(found.slice(0, at).findLast(hasFailed)),
      next_failed: idOf(found.slice(at + 1).find(hasFailed)),
      place: at + 1,
      total: found.length,
    };
  }

  async tasks(a, b, query) {
    const tasks = new Map();
    for (const { row } of this.entries) {
      const side = row.series === Number(a) ? "a" : row.series === Number(b) ? "b" : "";
      if (!side || (query.env && row.env_id !== query.env)) continue;
      const key = JSON.stringify([row.env_id, row.group]);
      if (!tasks.has(key)) tasks.set(key, { a: [], b: [] });
      tasks.get(key)[side].push(row);
    }
    const rows = [...tasks.values()].filter((task) => task.a.length && task.b.length).map(taskRow);
    rows.sort((x, y) => Math.abs(y.difference ?? 0) - Math.abs(x.difference ?? 0));
    const from = Number(query.offset ?? 0);
    return {
      total: rows.length,
      return_a: mean(rows.map((row) => row.return_a)),
      return_b: mean(rows.map((row) => row.return_b)),
      success_a: mean(rows.map((row) => row.success_a)),
      success_b: mean(rows.map((row) => row.success_b)),
      a_better: rows.filter((row) => row.difference < 0).length,
      b_better: rows.filter((row) => row.difference > 0).length,
      rows: rows.slice(from, from + Number(query.limit ?? 50)),
    };
  }

  /** The entries that match a query, in its order. */
  select(query) {
    const text = (query.q ?? "").toLowerCase();
    const found = this.entries.filter(
      ({ row, episode }) =>
        (!query.env || row.env_id === query.env) &&
        (!query.series || row.series === Number(query.series)) &&
        (!query.source || row.source === Number(query.source)) &&
        (!query.step || row.step === Number(query.step)) &&
        (!query.evaluation || row.evaluation === (query.evaluation === "1")) &&
        (!query.outcome || row.outcome === query.outcome) &&
        (!query.low || (row.return !== null && row.return >= Number(query.low))) &&
        (!query.high || (row.return !== null && row.return <= Number(query.high))) &&
        (!text || searched(episode).includes(text)),
    );
    const value = EMBEDDED_SORTS[query.sort || "number"] ?? EMBEDDED_SORTS.number;
    const sign = query.desc === "1" ? -1 : 1;
    return found.sort(
      ({ row: x }, { row: y }) =>
        inOrder(value(x), value(y), sign) || sign * (x.run - y.run || x.number - y.number),
    );
  }
}

/** Compares two values; null comes last in both directions. */
function inOrder(x, y, sign) {
  if (x === y) return 0;
  if (x === null || y === null) return x === null ? 1 : -1;
  return x < y ? -sign : sign;
}

/** The text to search: what is new in observations, and actions, in lower case. */
function searched(episode) {
  const values = episode.turns.flatMap((turn) => [turn.added, turn.action]);
  return [...values, episode.final_observation]
    .map((value) => (typeof value === "string" ? value : JSON.stringify(value)))
    .join("\n")
    .toLowerCase();
}

/** @param {Array<number | null>} values */
function mean(values) {
  const known = values.filter((value) => value !== null);
  return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
}

/** Merges the two sides of a task, each a list of rows of episodes, into one row. */
function taskRow({ a, b }) {
  const row = { env_id: a[0].env_id, group: a[0].group, n_a: a.length, n_b: b.length };
  for (const [name, rows] of [["a", a], ["b", b]]) {
    row[`return_${name}`] = mean(rows.map((found) => found.return));
    row[`success_${name}`] = mean(
      rows.map((found) => (found.success === null ? null : Number(found.success))),
    );
    row[`turns_${name}`] = mean(rows.map((found) => found.turns));
    row[`id_${name}`] = rows.reduce((first, found) => (found.sample < first.sample ? found : first)).id;
  }
  const known = row.return_a !== null && row.return_b !== null;
  return { ...row, difference: known ? row.return_b - row.return_a : null };
}

const data = document.getElementById("data");

/** The source of this page. */
export const source = data ? new EmbeddedSource(data) : new ServerSource();

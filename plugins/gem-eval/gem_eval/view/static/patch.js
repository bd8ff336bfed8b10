/** What an agent has changed of a repository, and what its tests say before and after. */

import { changesTable } from "./database.js";
import { el } from "./dom.js";
import { copyButton, shown } from "./text.js";

const LINE_KINDS = [
  ["diff ", "patch-file"],
  ["--- ", "quiet"],
  ["+++ ", "quiet"],
  ["@@", "patch-place"],
  ["+", "patch-new"],
  ["-", "patch-old"],
];

/** A patch, its lines coloured. @param {any} patch */
export function patchBlock(patch) {
  if (typeof patch !== "string") return null;
  if (!patch) return el("p", { class: "quiet" }, "(nothing changed)");
  const lines = patch.replace(/\n$/, "").split("\n").map((line) => {
    const [, kind] = LINE_KINDS.find(([start]) => line.startsWith(start)) ?? [];
    return el("div", kind ? { class: kind } : {}, shown(line || " "));
  });
  return el("div", { class: "block" }, el("div", { class: "text code patch", tabindex: "0" }, lines), copyButton(patch));
}

/**
 * What was observed in tests that failed, before and after.
 * @param {any} results Each has a `test`, an `expression`, and what was `expected`, `before` and `after`.
 */
export function resultsTable(results) {
  const names = ["test", "expression", "expected", "before", "after"];
  const isKnown = Array.isArray(results) && results.every((one) => names.every((name) => typeof one?.[name] === "string"));
  if (!isKnown) return null;
  const changes = results.map(({ test, expression, before, after }, at) => {
    const [table, ...name] = test.split("::");
    return { table, id: name.join("::"), path: `${at + 1}. ${expression}`, before, after };
  });
  const differences = changes.flatMap((change, at) =>
    results[at].expected === change.after ? [] : [{ ...change, before: results[at].expected }]);
  return changesTable(changes, differences);
}

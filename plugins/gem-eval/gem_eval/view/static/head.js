/** The head of a run: what was run, on what, with which versions; from its `run.json`. */

import { el, labelled, panel, present } from "./dom.js";
import { counted, decimal, isNumber, moment } from "./format.js";
import { block, folded, shown } from "./text.js";

const OWN_PLACES = ["command", "config", "created", "envs", "agents", "versions", "python", "git", "data", "models", "parameters"];
const NAMED_ENVS = 3;
const COMMIT_LENGTH = 12;

/** Whether a value is an object with keys. @param {any} value */
function isObject(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

/** A value in a line: `key value` for each value of an object. @param {any} value @returns {string} */
function inLine(value) {
  if (Array.isArray(value)) return value.map(inLine).join(", ");
  if (!isObject(value)) return String(value);
  return Object.entries(present(value)).map(([key, one]) => `${key} ${inLine(one)}`).join(", ");
}

/** An agent: its model, or else its id, and what else was set. @param {string} name @param {any} settings */
function agentText(name, settings) {
  if (!isObject(settings)) return name;
  const { id, model, ...rest } = present(settings);
  const main = model ?? id ?? name;
  const more = Object.entries(rest).filter(([, value]) => !isObject(value) && !Array.isArray(value));
  const what = [model !== undefined && id, ...more.map(([key, value]) => `${key} ${value}`)].filter(Boolean).join(", ");
  return `${name === main ? "" : `${name}: `}${main}${what ? ` (${what})` : ""}`;
}

/** The commit of the working directory. @param {any} git */
function commitText(git) {
  if (!isObject(git) || typeof git.commit !== "string") return "";
  return git.commit.slice(0, COMMIT_LENGTH) + (git.dirty ? " with changes" : "");
}

/** The values of an object, each after its key if there are several. @param {any} named @param {(one: any) => string} text */
function eachText(named, text) {
  const all = Object.entries(isObject(named) ? named : {});
  return all.map(([name, one]) => (all.length > 1 ? `${name}: ` : "") + text(one)).join(" · ");
}

/** The data of an environment, and its version. @param {any} data */
function dataText(data) {
  const { name, version } = isObject(data) ? data : {};
  return `${name ?? "unnamed"}${version ? ` (${String(version).slice(0, "sha256:".length + COMMIT_LENGTH)})` : ""}`;
}

/** @param {any} info @returns {Array<[string, string]>} */
function factsOf(info) {
  const config = isObject(info.config) ? info.config : {};
  const agents = Array.isArray(info.agents) ? info.agents : [];
  const settings = isObject(config.agent) ? config.agent : {};
  const envs = Array.isArray(info.envs) ? info.envs : [];
  const others = Object.entries(present(info)).filter(([name]) => !OWN_PLACES.includes(name));
  const { "gem-core": core } = isObject(info.versions) ? info.versions : {};
  return [
    ["started", moment(info.created)],
    [agents.length > 1 ? "agents" : "agent", agents.map((name) => agentText(name, settings[name])).join(" · ")],
    ["environments", envs.length > NAMED_ENVS ? counted(envs.length, "environment") : envs.join(", ")],
    ["tasks", isNumber(config.episodes) && `${decimal(config.episodes, 0)} of each environment`],
    ["samples", isNumber(config.samples) && `${decimal(config.samples, 0)} of each task`],
    ["seed", isNumber(config.seed) && String(config.seed)],
    [Object.keys(isObject(info.models) ? info.models : {}).length > 1 ? "models" : "model", eachText(info.models, inLine)],
    ["data", eachText(info.data, dataText)],
    ["gem-core", core],
    ["Python", info.python],
    ["git commit", commitText(info.git)],
    ...others.map(([name, value]) => [name, inLine(value)]),
  ].filter(([, value]) => value);
}

/** What is known of a run. @param {any} info */
function headOf(info) {
  const facts = factsOf(info).map(([name, value]) => el("div", {}, el("dt", {}, shown(name)), el("dd", {}, shown(value))));
  return el("div", { class: "run-head" },
    el("dl", { class: "facts" }, facts),
    typeof info.command === "string" && labelled("Command", block(info.command, "code")),
    isObject(info.config) && folded("Configuration", () => block(info.config, "code")),
    isObject(info.parameters) && folded("Parameters of the environments", () => block(info.parameters, "code")),
    isObject(info.versions) && folded("Versions", () =>
      block(Object.entries(info.versions).map(([name, version]) => `${name} ${version}`).join("\n"), "code")));
}

/** The heads of runs: of one it is open, of several each is folded. @param {any[]} runs */
export function runHeads(runs) {
  const known = runs.filter(({ info }) => isObject(info) && Object.keys(info).length > 0);
  if (!known.length) return null;
  if (runs.length === 1) return panel("Run", el("span", { class: "quiet" }, shown(runs[0].path)), headOf(runs[0].info));
  return panel("Runs", null, known.map(({ label, path, info }) =>
    folded([el("b", {}, shown(label)), " ", el("span", {}, shown(path))], () => headOf(info))));
}

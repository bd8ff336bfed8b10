/** Training runs: their curves, and the episodes that were recorded. */

import { curveChart, meanBand, reachOf, smoothed, valueAtStep } from "./curves.js";
import { el, empty, panel, segments, svg } from "./dom.js";
import { compact, counted, decimal, isNumber, percent, range, significant } from "./format.js";
import { card } from "./overview.js";
import { tint } from "./plots.js";
import { source } from "./source.js";
import { go, link } from "./state.js";
import { folded, plain, shown } from "./text.js";

/**
 * @typedef {{label: string, runs: any[]}} Group Runs that are drawn as one curve.
 */

const FIRST_STEPS = 40;

/** @param {any} run @param {string} name @returns {Array<[number, number]>} */
function pointsOf(run, name) {
  const values = run.metrics[name] ?? [];
  return run.steps.map((step, at) => [step, values[at]]).filter(([, value]) => isNumber(value));
}

/** @param {any} found @param {string} mode @returns {Group[]} */
function groupsOf(found, mode) {
  if (mode === "each") return found.runs.map((run) => ({ label: plain(run.label), runs: [run] }));
  if (mode === "all") return [{ label: "", runs: found.runs }];
  return found.groups.map((label, group) => {
    const runs = found.runs.filter((run) => run.group === group);
    return { label: plain(label || runs[0].label), runs };
  });
}

/** The ways to draw several runs that differ. @param {any} found @returns {Array<[string, string]>} */
function modesOf(found) {
  const [runs, groups] = [found.runs.length, found.groups.length];
  if (runs === 1) return [];
  if (groups === 1) return [["", "Mean of runs"], ["each", "Each run"]];
  if (groups === runs) return [["", "Each run"], ["all", "Mean of runs"]];
  return [["", "Means by settings"], ["all", "Mean of all"], ["each", "Each run"]];
}

/** The figures of the evaluations, by source and step. @param {any} found */
function evaluationsOf(found) {
  const rows = found.logged.filter((row) => row.evaluation);
  return new Map(rows.map((row) => [`${row.source}-${row.step}`, row]));
}

/** What a point leads to, in the order of the steps. @param {any} found */
function targetsOf(found) {
  const counts = new Map();
  for (const row of found.logged) {
    if (!row.episodes) continue;
    const key = `${row.step} ${row.evaluation ? 1 : 0}`;
    counts.set(key, (counts.get(key) ?? 0) + row.episodes);
  }
  const targets = [...counts].map(([key, episodes]) => {
    const [step, evaluation] = key.split(" ").map(Number);
    const what = evaluation ? "evaluation after step" : "step";
    return {
      step,
      episodes,
      isEvaluation: evaluation === 1,
      text: `${counted(episodes, "episode")}, ${what} ${step}`,
      url: link("episodes", { step, evaluation }),
    };
  });
  return targets.sort((a, b) => a.step - b.step || Number(a.isEvaluation) - Number(b.isEvaluation));
}

/**
 * The curves of a metric of a group: its mean with a band and its runs, or its only run.
 * @param {any} look What all curves of the page share.
 */
function linesOf({ group, name, label, kind, show, showEnd, look }) {
  const isMarked = name.startsWith("eval/");
  const members = group.runs
    .map((run) => ({ run, raw: pointsOf(run, name) }))
    .filter(({ raw }) => raw.length);
  if (!members.length) return [];
  const reach = isMarked || look.isRaw ? 1 : reachOf(Math.max(...members.map(({ raw }) => raw.length)));
  const sayOf = (points, more = (_) => "") => (step) => {
    const value = valueAtStep(points, step);
    return value === undefined ? "" : show(value) + more(step);
  };
  if (members.length === 1) {
    const [{ run, raw }] = members;
    const interval = (step) => look.evaluations.get(`${run.source}-${step}`)?.[name.slice("eval/".length)];
    const whiskers = !isMarked ? [] : raw
      .map(([step]) => [step, interval(step)?.low, interval(step)?.high])
      .filter(([, low]) => isNumber(low));
    const more = (step) => isMarked && isNumber(interval(step)?.low) ? ` (${range(interval(step), showEnd)})` : "";
    const line = { label, kind, points: smoothed(raw, reach), say: sayOf(raw, more), isMarked, whiskers };
    return reach > 1 ? [{ label, kind, points: raw, isFaint: true }, line] : [line];
  }
  const curves = members.map(({ raw }) => smoothed(raw, reach));
  const band = meanBand(curves, look.quantiles);
  const say = (step) => {
    const values = members.map(({ raw }) => valueAtStep(raw, step)).filter((value) => value !== undefined);
    if (values.length < members.length) return "";
    const [[, low, high, mean]] = meanBand(values.map((value) => [[step, value]]), look.quantiles);
    return `${show(mean)} (${showEnd(low)} to ${showEnd(high)})`;
  };
  const mean = { label, kind, points: band.map(([step, , , middle]) => [step, middle]), say, isMarked, isMean: true };
  return [
    { ...mean, ...(isMarked ? { whiskers: band.map(([step, low, high]) => [step, low, high]) } : { band }) },
    ...members.map(({ run, raw }, at) => ({
      label: plain(run.label), kind, points: curves[at], isFaint: true, isMarked,
      say: sayOf(raw),
    })),
  ];
}

/** A piece of a curve, for a legend. @param {string} kind @param {boolean} isMarked */
function lineSample(kind, isMarked) {
  return svg("svg", { class: "line-sample", width: 26, height: 10, "aria-hidden": "true" },
    svg("path", { class: `line ${kind}`, d: "M1 5H25" }),
    isMarked && svg("circle", { class: `point ${kind}`, cx: 13, cy: 5, r: 3.5 }));
}

/** @param {any} one A panel. @param {Group[]} groups @param {any} look */
function curvePanel(one, groups, look) {
  const show = one.bounds ? (value) => percent(value, 1) : (value) => significant(value, 6);
  const showEnd = one.bounds ? show : (value) => significant(value, 3);
  const names = Object.keys(one.series)
    .filter((name) => groups.some((group) => group.runs.some((run) => run.metrics[name])));
  const lines = groups.flatMap((group, place) => names.flatMap((name, at) => {
    const what = plain(one.series[name]);
    const isAlone = groups.length === 1;
    const label = isAlone ? what : names.length > 1 ? `${group.label}, ${what}` : group.label;
    const kind = isAlone ? tint(at) : `${tint(place)} dash-${at}`;
    return linesOf({ group, name, label, kind, show, showEnd, look });
  }));
  const hasEvaluations = lines.some((line) => line.isMarked);
  const targets = look.targets.filter((target) => hasEvaluations || !target.isEvaluation);
  const named = lines.filter((line) => line.say && (!line.isFaint));
  const isLabelled = named.length > 1 || named.some((line) => line.isMarked);
  // The colours of several groups stand above all panels, so each panel explains its dashes.
  const items = groups.length > 1 && names.length > 1
    ? names.map((name, at) => [`dash-${at}`, name.startsWith("eval/"), plain(one.series[name])])
    : named.map((line) => [line.kind, line.isMarked, line.label]);
  const legend = el("ul", { class: "legend" }, items.map(([kind, isMarked, label]) =>
    el("li", {}, lineSample(kind, isMarked), shown(label))));
  const chart = { id: `curve-${one.title.replace(/\W+/g, "-")}`, title: plain(one.title), unit: plain(one.unit), bounds: one.bounds, lines, show, ...look.axis, targets };
  const isNamed = one.unit.toLowerCase() === one.title.toLowerCase();
  return panel(plain(one.title), !isNamed && el("span", { class: "quiet" }, plain(one.unit)),
    isLabelled && legend, curveChart(chart));
}

/** The first and the last value of a metric of a run. @param {any} run @param {string[]} names */
function change(run, names) {
  const name = names.find((candidate) => run.metrics[candidate]);
  if (!name) return null;
  const points = pointsOf(run, name);
  const [step, last] = points[points.length - 1];
  return { name, step, first: points[0][1], last };
}

/** @param {any} run @param {any} look */
function figuresOf(run, look) {
  const kinds = [
    ["Success", ["eval/success", "rollout/success"], (value) => percent(value, 1)],
    ["Return", ["eval/return", "rollout/return"], (value) => significant(value, 3)],
    ["Loss", ["validation/loss", "train/loss"], (value) => significant(value, 3)],
  ];
  const isReinforced = kinds[0][1].concat(kinds[1][1]).some((name) => run.metrics[name]);
  return (isReinforced ? kinds.slice(0, 2) : kinds.slice(2)).map(([title, names, show]) => {
    const found = change(run, names);
    if (!found) return null;
    const [group, metric] = found.name.split("/");
    const interval = group === "eval" ? look.evaluations.get(`${run.source}-${found.step}`)?.[metric] : null;
    const of = { eval: "evaluation", rollout: "training", validation: "held-out", train: "training" }[group];
    return { title, value: `${show(found.first)} → ${show(found.last)}`, more: [of, range(interval, show)].filter(Boolean).join(", ") };
  }).filter(Boolean);
}

/** @param {any} run */
function lastStep(run) {
  return run.steps[run.steps.length - 1] ?? 0;
}

/** How many steps and evaluations were recorded. @param {any} look */
function recordedText({ targets }) {
  const evaluations = targets.filter((target) => target.isEvaluation).length;
  const steps = targets.length - evaluations;
  return [steps && counted(steps, "step"), evaluations && counted(evaluations, "evaluation")].filter(Boolean).join(", ");
}

/** The figures of one run as cards. @param {any} found @param {any} look */
function runCards(found, look) {
  const [run] = found.runs;
  const recorded = found.logged.reduce((sum, row) => sum + row.episodes, 0);
  return el("div", { class: "cards wide" },
    card("Steps", decimal(lastStep(run), 0), look.reach > 1 ? `curves are means over ${look.reach} steps` : ""),
    figuresOf(run, look).map(({ title, value, more }) => card(title, value, more)),
    recorded > 0 && card("Recorded episodes", compact(recorded), recordedText(look), link("episodes")));
}

/** The figures of several runs as a table. @param {Group[]} groups @param {any} look */
function runTable(groups, look) {
  const titles = [...new Set(groups.flatMap(({ runs }) => runs.flatMap((run) => figuresOf(run, look).map(({ title }) => title))))];
  const row = (run, kind) => {
    const figures = new Map(figuresOf(run, look).map((one) => [one.title, one]));
    return el("tr", {},
      el("th", { scope: "row" }, el("span", { class: `dot ${kind}` }), shown(run.label)),
      el("td", {}, decimal(lastStep(run), 0)),
      titles.map((title) => [
        el("td", {}, figures.get(title)?.value ?? "–"),
        el("td", { class: "quiet left" }, figures.get(title)?.more ?? ""),
      ]).flat());
  };
  const heads = ["", "steps", ...titles.flatMap((title) => [title.toLowerCase(), ""])];
  return panel("Runs", el("span", { class: "quiet" }, "first and last value, 95 % interval"),
    el("div", { class: "scrolls", tabindex: "0", role: "region", "aria-label": "Runs" },
      el("table", { class: "figures" },
        el("thead", {}, el("tr", {}, heads.map((name) => el("th", { scope: "col" }, name)))),
        el("tbody", {}, groups.flatMap(({ runs }, at) => runs.map((run) => row(run, tint(groups.length > 1 ? at : 0))))))));
}

/** The colours of the groups, and what their curves are. @param {Group[]} groups */
function groupLegend(groups) {
  const label = ({ label: name, runs }) => (runs.length > 1 ? `${name} (${counted(runs.length, "run")})` : name);
  const isMean = groups.some(({ runs }) => runs.length > 1);
  return el("div", { class: "legend-row" },
    groups.length > 1 && el("ul", { class: "legend" }, groups.map((group, at) =>
      el("li", {}, el("span", { class: `dot ${tint(at)}` }), shown(label(group))))),
    isMean && el("span", { class: "quiet" },
      "Lines: means of runs. Bands and bars: 95 % intervals of the means (Student's t). Pale: the runs."));
}

/** The steps whose episodes were recorded. @param {any} look @param {Object<string, string>} choices */
function stepTable({ targets }, choices) {
  const steps = [...new Set(targets.map((target) => target.step))];
  const shownSteps = choices.all === "1" ? steps : steps.slice(-FIRST_STEPS);
  const cell = (step, isEvaluation) => {
    const found = targets.find((target) => target.step === step && target.isEvaluation === isEvaluation);
    return el("td", {}, found ? el("a", { href: found.url }, counted(found.episodes, "episode")) : "");
  };
  const has = (isEvaluation) => targets.some((target) => target.isEvaluation === isEvaluation);
  const kinds = [false, true].filter(has);
  return el("div", {},
    el("table", { class: "figures" },
      el("thead", {}, el("tr", {}, ["step", ...kinds.map((kind) => (kind ? "evaluation" : "training"))].map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, shownSteps.map((step) => el("tr", {}, el("th", { scope: "row" }, decimal(step, 0)), kinds.map((kind) => cell(step, kind)))))),
    shownSteps.length < steps.length && el("button",
      { type: "button", class: "more", onclick: () => go("training", { ...choices, all: "1" }, true) },
      `Show all ${decimal(steps.length, 0)} steps`));
}

/** The same, folded away. @param {any} look @param {Object<string, string>} choices */
function stepsPanel(look, choices) {
  const details = folded("Recorded episodes by step", () => stepTable(look, choices));
  details.open = choices.all === "1";
  return el("section", { class: "panel" }, details);
}

/** @param {any} found @param {Object<string, string>} choices @param {number} reach */
function switches(found, choices, reach) {
  const change = (name) => (value) => go("training", { ...choices, [name]: value }, true);
  const modes = modesOf(found);
  return el("div", { class: "filters" },
    modes.length > 0 && segments("Runs", modes, choices.runs ?? "", change("runs")),
    reach > 1 && segments("Curves", [["", "Smoothed"], ["1", "Each step"]], choices.raw ?? "", change("raw")));
}

/** The page. @param {import("./state.js").Place} place @returns {Promise<Node[]>} */
export async function trainingPage({ choices }) {
  const found = await source.training(choices.every);
  if (!found?.panels.length) {
    return [el("h1", {}, "Training"), empty("No metrics yet", el("p", {}, "They appear here with the first step."))];
  }
  const groups = groupsOf(found, choices.runs ?? "");
  const reach = reachOf(Math.max(...found.runs.map((run) => run.steps.length)));
  const targets = targetsOf(found);
  const first = Math.min(...found.runs.map((run) => run.steps[0] ?? Infinity));
  const last = Math.max(...found.runs.map(lastStep));
  const look = {
    evaluations: evaluationsOf(found), targets, axis: { first, last }, quantiles: found.quantiles,
    isRaw: choices.raw === "1", reach: choices.raw === "1" ? 1 : reach,
  };
  return [
    el("div", { class: "title-row" },
      el("h1", {}, found.runs.length <= 3
        ? shown(found.runs.map((run) => run.label).join(" · ")) : counted(found.runs.length, "run")),
      switches(found, choices, reach)),
    found.runs.length === 1 ? runCards(found, look) : runTable(groups, look),
    found.runs.length > 1 && groupLegend(groups),
    el("div", { class: "panels curves" }, found.panels.map((one) => curvePanel(one, groups, look))),
    found.further > 0 && el("button",
      { type: "button", class: "more", onclick: () => go("training", { ...choices, every: "1" }, true) },
      `Show ${counted(found.further, "further metric")}`),
    targets.length > 0 && stepsPanel(look, choices),
  ].filter(Boolean);
}

/** The tokens of a turn, coloured by log-probability, by mask or by advantage. */

import { el, fill } from "./dom.js";
import { decimal, isNumber, percent } from "./format.js";
import { plain, shown } from "./text.js";

const FIRST_TOKENS = 3000;
const STEPS = 5;

/** The ways to colour tokens: the name in the URL, and the label. */
export const COLOURINGS = [
  ["", "Text"],
  ["logprob", "Log-probability"],
  ["mask", "Mask"],
  ["advantage", "Advantage"],
];

/**
 * @typedef {Object} Token
 * @property {string | null} text
 * @property {any} id
 * @property {any} logprob
 * @property {any} advantage
 * @property {boolean} sampled Whether the model sampled it; else it is of the prompt.
 * @property {boolean} trained Whether it is in the loss.
 */

/** One value for each token: a list, or one number for all. @param {any} values @param {number} at */
function valueAt(values, at) {
  return Array.isArray(values) ? (values[at] ?? null) : isNumber(values) ? values : null;
}

/**
 * The tokens of a turn, those of the prompt first.
 * @param {any} turn
 * @returns {Token[]}
 */
export function tokensOf(turn) {
  const generation = turn.generation;
  if (!generation) return [];
  const { token_ids: ids, logprobs } = generation;
  const texts = generation.tokens ?? turn.info?.tokens ?? null;
  const { advantages, loss_mask: mask } = turn.info ?? {};
  const count = Math.max(ids?.length ?? 0, logprobs?.length ?? 0, texts?.length ?? 0);
  const prompt = (generation.prompt_ids ?? []).map((id, at) => ({
    text: valueAt(turn.info?.prompt_tokens, at),
    id,
    logprob: null,
    advantage: null,
    trained: false,
    sampled: false,
  }));
  const sampled = Array.from({ length: count }, (_, at) => ({
    text: valueAt(texts, at),
    id: ids?.[at] ?? null,
    logprob: logprobs?.[at] ?? null,
    advantage: valueAt(advantages, at),
    trained: mask === undefined || mask === null || Boolean(valueAt(mask, at)),
    sampled: true,
  }));
  return [...prompt, ...sampled];
}

/** The colourings that an episode has values for. @param {any} episode */
export function colouringsOf(episode) {
  const generated = episode.turns.filter((turn) => turn.generation);
  const has = {
    "": true,
    logprob: generated.some((turn) => turn.generation.logprobs?.length),
    mask: generated.some((turn) => turn.generation.token_ids?.length),
    advantage: generated.some((turn) => turn.info?.advantages !== undefined && tokensOf(turn).length),
  };
  return COLOURINGS.filter(([name]) => has[name]);
}

/** The largest absolute advantage in an episode, which has the strongest colour. @param {any} episode */
export function largestAdvantage(episode) {
  let largest = 0;
  for (const turn of episode.turns) {
    for (const value of [turn.info?.advantages ?? []].flat()) {
      if (isNumber(value)) largest = Math.max(largest, Math.abs(value));
    }
  }
  return largest;
}

/** @param {Token} token @param {string} colouring @param {number} largest */
function shade(token, colouring, largest) {
  if (!token.sampled) return "prompt";
  if (colouring === "mask") return token.trained ? "trained" : "untrained";
  if (colouring === "logprob") {
    const logprob = token.logprob === null ? NaN : Number(token.logprob);
    if (Number.isNaN(logprob)) return "";
    // A shade for each halving: none above 1/2, then 1/2, 1/4, 1/8, 1/16 and below 1/32.
    return `surprise-${Math.min(STEPS, Math.max(0, Math.floor(-logprob / Math.LN2)))}`;
  }
  if (!isNumber(token.advantage) || !largest || token.advantage === 0) return "";
  const step = Math.max(1, Math.ceil((Math.abs(token.advantage) / largest) * STEPS));
  return `${token.advantage > 0 ? "gain" : "loss"}-${step}`;
}

/** @param {Token} token @param {number} at */
function hint(token, at) {
  const known = [`token ${at + 1}`];
  if (token.text !== null) known.push(JSON.stringify(plain(token.text)));
  if (token.id !== null) known.push(`id ${token.id}`);
  if (token.logprob !== null) {
    known.push(`log-probability ${decimal(token.logprob, 3)} (${percent(Math.exp(token.logprob), 2)})`);
  }
  if (isNumber(token.advantage)) known.push(`advantage ${decimal(token.advantage, 3)}`);
  if (!token.sampled) known.push("prompt");
  else if (!token.trained) known.push("sampled, masked");
  return known.join(" · ");
}

/** @param {Token} token @param {number} at @param {string} colouring @param {number} largest */
function tokenSpan(token, at, colouring, largest) {
  const span = el(
    "span",
    { class: `token ${shade(token, colouring, largest)}`, title: hint(token, at) },
  );
  if (token.text === null) span.classList.add("unknown");
  const text = token.text ?? String(token.id ?? at + 1);
  fill(span, shown(String(text)));
  return span;
}

/**
 * The tokens of a turn.
 * @param {Token[]} tokens
 * @param {string} colouring
 * @param {number} largest
 */
export function tokenBlock(tokens, colouring, largest) {
  const wanted = colouring === "mask" ? tokens : tokens.filter((token) => token.sampled);
  const body = el("pre", { class: "text tokens", tabindex: "0" });
  let done = 0;
  const more = el("button", { type: "button", class: "more" });
  const add = () => {
    const next = wanted.slice(done, done + FIRST_TOKENS);
    fill(body, next.map((token, at) => tokenSpan(token, done + at, colouring, largest)));
    done += next.length;
    more.textContent = `Show more of the other ${decimal(wanted.length - done, 0)} tokens`;
    more.hidden = done >= wanted.length;
  };
  more.addEventListener("click", add);
  add();
  return el("div", { class: "block" }, body, more);
}

/** The legend of the colours. @param {string} colouring @param {number} largest */
export function tokenLegend(colouring, largest) {
  const swatch = (kind, text) => el("li", {}, el("span", { class: `swatch token ${kind}` }), text);
  const items = {
    logprob: () => [
      "> 50 %",
      "≤ 50 %",
      "≤ 25 %",
      "≤ 12.5 %",
      "≤ 6.3 %",
      "≤ 3.1 %",
    ].map((text, step) => swatch(`surprise-${step}`, text)),
    mask: () => [
      swatch("trained", "sampled, in the loss"),
      swatch("untrained", "sampled, masked"),
      swatch("prompt", "prompt"),
    ],
    advantage: () => [
      swatch(
        `loss-${STEPS}`,
        decimal(-largest, 3),
      ), swatch("loss-2", decimal(-largest * 0.4, 3)), swatch("", "0"),
      swatch("gain-2", decimal(largest * 0.4, 3)), swatch(`gain-${STEPS}`, decimal(largest, 3)),
    ],
  }[colouring];
  return items ? el("ul", { class: "legend token-legend" }, items()) : null;
}

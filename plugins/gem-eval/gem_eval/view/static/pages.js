/**
 * The web pages that an agent saw. `info.page` has the address, and `kinds` with a digit for each
 * piece of the page; the observation has the texts of the pieces, in one of three ways of writing.
 */

const PIECE_KINDS = ["text", "instruction", "button", "link", "visited", "option", "chosen", "option-name", "title", "box"];
const CLICKABLE = ["button", "link", "visited", "option", "chosen"];
const IS_CLICKED = ["visited", "chosen"];
const SEPARATOR = " [SEP] ";
const LABEL = /(?:^|\n)(?=Instruction: *\n)/g;
const MARK = /\[(clicked )?button_?\]| \[SEP\] /;
const ACTION = /^(\w+)\[([^]*)\]$/;

/**
 * @typedef {{kind: string, text: string, isPressed: boolean}} Piece
 * @typedef {{name: string, argument: string}} PageAction
 * @typedef {{url: string, pieces: Piece[] | null, text: string, action: PageAction | null,
 *   isRefused: boolean, instruction: string, info: any}} Sight
 * A page as it was seen: `pieces` is null if the observation does not fit the kinds; `info` is that
 * of the step that led to the page.
 */

/** Whether a value says what the pieces of a page are. @param {any} page */
function isPage(page) {
  return typeof page?.url === "string" && typeof page.kinds === "string" && /^\d*$/.test(page.kinds);
}

/** Whether an episode was played on web pages. @param {any} episode */
export function isVisit(episode) {
  return episode.turns.length > 0 && [episode.reset_info, ...episode.turns.map((turn) => turn.info)].every((info) => isPage(info?.page));
}

/** The pages of an episode, one for each turn, and the one after the last. @param {any} episode @returns {Sight[]} */
export function sightsOf(episode) {
  const given = episode.reset_info.page.instruction;
  const wish = typeof given === "string" ? given : "";
  const infos = [episode.reset_info, ...episode.turns.map((turn) => turn.info)];
  return infos.map((info, at) => {
    const turn = episode.turns[at];
    return sight(info, turn ? turn.observation : episode.final_observation, turn, wish);
  });
}

/** @param {any} info @param {any} observation @param {any} turn @param {string} wish @returns {Sight} */
function sight(info, observation, turn, wish) {
  const text = typeof observation === "string" ? observation : "";
  const pieces = piecesOf(text, info.page, info.suffix);
  const action = actionOf(turn?.info);
  if (pieces && action?.name === "click") press(pieces, action.argument);
  const instruction = pieces?.find((piece) => piece.kind === "instruction")?.text ?? wish;
  return { url: info.page.url, pieces, text, action, isRefused: turn?.info.format_error === true, instruction, info };
}

/** @param {any} info @returns {PageAction | null} */
function actionOf(info) {
  const match = ACTION.exec(typeof info?.parsed_action === "string" ? info.parsed_action : "");
  return match && { name: match[1], argument: match[2] };
}

/** Marks the piece that is clicked; of options with the same value, the last one. @param {Piece[]} pieces @param {string} text */
function press(pieces, text) {
  const fitting = pieces.filter((piece) => CLICKABLE.includes(piece.kind) && piece.text.toLowerCase() === text);
  const isOption = fitting.length > 0 && ["option", "chosen"].includes(fitting[0].kind);
  const pressed = fitting.at(isOption ? -1 : 0);
  if (pressed) pressed.isPressed = true;
}

/**
 * The pieces of a page.
 * @param {string} text The observation; the texts of earlier pages may stand before this page.
 * @param {{url: string, kinds: string}} page
 * @param {any} suffix What may follow the page.
 * @returns {Piece[] | null} Null if the texts do not fit the kinds.
 */
export function piecesOf(text, page, suffix) {
  const kinds = [...page.kinds].map((digit) => PIECE_KINDS[Number(digit)]);
  const own = typeof suffix === "string" && suffix && text.endsWith(suffix) ? text.slice(0, -suffix.length) : text;
  if (!kinds.length || !own.trim() || own.trim() === page.url) return null;
  return ofSource(own.trim(), kinds) ?? ofLines(own.trim(), kinds) ?? ofTexts(own.trim(), kinds);
}

/** @param {string} kind @param {string} text @returns {Piece} */
function piece(kind, text) {
  return { kind, text: text.trim(), isPressed: false };
}

/** Of the source of a page: each element of the body is a piece. @param {string} text @param {string[]} kinds */
function ofSource(text, kinds) {
  const start = text.toLowerCase().lastIndexOf("<!doctype html>");
  if (start < 0 || !text.endsWith("</html>")) return null;
  const { body } = new DOMParser().parseFromString(text.slice(start), "text/html");
  const elements = [...body.children];
  if (elements.length !== kinds.length) return null;
  return kinds.map((kind, at) => piece(kind, kind === "box" ? "" : elements[at].textContent ?? ""));
}

/** Of texts with a separator, those after the instruction. @param {string} text @param {string[]} kinds */
function ofTexts(text, kinds) {
  const left = kinds.slice(kinds.indexOf("instruction") + 1);
  const count = left.filter((kind) => kind !== "box").length;
  const all = text.split(SEPARATOR);
  const hasEarlier = all.length > count;
  if (all.length < count || count === 0) return null;
  const own = all.slice(-count);
  if (hasEarlier && !own[0].includes("\n")) return null;
  own[0] = own[0].slice(own[0].lastIndexOf("\n") + 1);
  if (own.some((one) => MARK.test(one))) return null;
  return left.map((kind) => piece(kind, kind === "box" ? "" : own.shift() ?? ""));
}

/** Of one text on each line, with marks around what can be clicked. @param {string} text @param {string[]} kinds */
function ofLines(text, kinds) {
  const at = kinds.indexOf("instruction") - 1;
  const own = at < 0 ? kinds : kinds.slice(at);
  const [start] = [...text.matchAll(LABEL)].slice(-1);
  if (at >= 0 && !start) return null;
  let rest = at < 0 ? text.split("\n").slice(-kinds.length).join("\n") : text.slice(start.index);
  const pieces = [];
  let waiting = [];
  for (const kind of own) {
    if (!CLICKABLE.includes(kind)) {
      waiting.push(kind);
      continue;
    }
    const mark = IS_CLICKED.includes(kind) ? "clicked button" : "button";
    const [before, after] = cutAt(rest, `[${mark}] `);
    const [inside, behind] = cutAt(after, ` [${mark}_]`);
    const texts = behind === null ? null : linesFor(before, waiting);
    if (!texts) return null;
    pieces.push(...texts, piece(kind, inside));
    waiting = [];
    rest = behind;
  }
  const last = linesFor(rest, waiting);
  return last && [...pieces, ...last];
}

/** A text before and after a mark; nulls without the mark. @param {string | null} text @param {string} mark */
function cutAt(text, mark) {
  const at = text === null ? -1 : text.indexOf(mark);
  return at < 0 ? [null, null] : [text.slice(0, at), text.slice(at + mark.length)];
}

/** The pieces of lines; the last one has all lines that are left. @param {string} text @param {string[]} kinds */
function linesFor(text, kinds) {
  const lines = text.trim() ? text.trim().split("\n") : [];
  const written = kinds.filter((kind) => kind !== "box");
  if (lines.length < written.length || (lines.length && !written.length)) return null;
  if (lines.some((line) => MARK.test(line))) return null;
  const last = written.length - 1;
  let at = 0;
  return kinds.map((kind) => {
    if (kind === "box") return piece(kind, "");
    const own = at === last ? lines.slice(at).join("\n") : lines[at];
    at += 1;
    return piece(kind, own);
  });
}

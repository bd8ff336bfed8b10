/**
 * Draws the board of a game from its text: a table if the text has a grid, and the text around it.
 * A text without a grid is left as it is. Other pages use this module and board.css alone.
 */

const CELL = /^(?:\S|\d{1,6}|_{2,4}|\[\S{1,3}\])$/u;
const COUNTED = /^[A-Z]?\d{1,2}$/;
const LIST = /^ *(\w{1,12}): *\[([^[\]]*)\] *$/;
const RULE = /^[ |+]*[-=][-=+| ]+$/;
const EMPTY = /^(?:[._·]|_+|)$/u;
const FOUND = /^\[\S+\]$/u;
const MARKS = { G: "exact", Y: "present", X: "absent" };
const LARGEST_NUMBER = 2 ** 11;
const COLUMNS_IN_SIGHT = 14;
const LONGEST_TEXT = 20_000;
const MOST_CELLS = 2_500;

/**
 * @typedef {{text: string, from: number, to: number}} Token
 * @typedef {{label: string, cells: string[], isUnderRule: boolean}} Row
 * @typedef {{before: string, columns: string[], rows: Row[], bars: number[], after: string}} Board
 * `columns` and labels may be empty; `bars` are the places of cells behind an upright line.
 */

/**
 * The tokens of a line, and the places of those behind an upright line. A blank field between lines
 * is an empty token; a line that begins with one has a frame, which is left out.
 * @param {string} line
 */
function tokensOfLine(line) {
  const tokens = [];
  const bars = [];
  const fields = line.trimEnd().split("|");
  const isFramed = fields[0] === "" && fields.length > 1;
  let from = 0;
  for (const [at, field] of fields.entries()) {
    const isLast = at === fields.length - 1;
    const found = [...field.matchAll(/\S+/g)].map((match) => {
      const place = from + match.index;
      return { text: match[0], from: place, to: place + match[0].length };
    });
    const isOuter = fields.length === 1 || (isFramed && (at === 0 || isLast));
    if (!found.length && !isOuter) found.push({ text: "", from, to: isLast ? Infinity : from + field.length });
    if (at > 0 && tokens.length && found.length) bars.push(tokens.length);
    tokens.push(...found);
    from += field.length + 1;
  }
  return { tokens, bars };
}

/** Whether tokens stand below each other, one by one. @param {Token[]} above @param {Token[]} below */
function align(above, below) {
  return above.length === below.length &&
    above.every((token, at) => token.from < below[at].to && below[at].from < token.to);
}

/** The number of a label such as C1 or 0. @param {Token} token */
function numberOf({ text }) {
  return COUNTED.test(text) ? Number(text.replace(/\D/, "")) : NaN;
}

/** Whether labels count up: C1 C2, 0 1 2. @param {Token[]} tokens */
function countUp(tokens) {
  return tokens.length > 0 && tokens.every((token, at) => numberOf(token) === numberOf(tokens[0]) + at);
}

/** @param {{tokens: Token[]}} line @param {boolean} isLabelled Whether the first token is a label. */
function isGridLine({ tokens }, isLabelled) {
  const cells = isLabelled ? tokens.slice(1) : tokens;
  const isLabel = !isLabelled || COUNTED.test(tokens[0]?.text ?? "");
  return isLabel && cells.length > 0 && cells.every(({ text }) => text === "" || CELL.test(text));
}

/**
 * The rows that begin at a line: those that are aligned with it, and the rules between them.
 * @param {string[]} lines
 * @param {number} start
 * @param {boolean} isLabelled
 */
function rowsFrom(lines, start, isLabelled) {
  const rows = [];
  let end = start;
  let isUnderRule = false;
  for (let at = start; at < lines.length; at += 1) {
    if (rows.length && RULE.test(lines[at])) {
      isUnderRule = true;
      continue;
    }
    const line = tokensOfLine(lines[at]);
    if (!isGridLine(line, isLabelled) || (rows.length && !align(rows[0].tokens, line.tokens))) break;
    if (isLabelled && rows.length && numberOf(line.tokens[0]) !== numberOf(rows[0].tokens[0]) + rows.length) break;
    rows.push({ ...line, isUnderRule });
    isUnderRule = false;
    end = at + 1;
  }
  return { rows, end };
}

/** Whether labels begin with a letter, as no number of a board does. @param {Token[]} tokens */
function areLettered(tokens) {
  return tokens.every(({ text }) => /^[A-Z]/.test(text));
}

/** The grid that begins at a line; null if none does. @param {string[]} lines @param {number} start */
function gridAt(lines, start) {
  const line = tokensOfLine(lines[start]).tokens;
  if (line.length < 2) return null;
  const head = countUp(line) ? line : [];
  const labelled = rowsFrom(lines, start + Number(head.length > 0), true);
  const firsts = labelled.rows.map(({ tokens }) => tokens[0]);
  if (countUp(firsts) && (head.length ? align(head, labelled.rows[0].tokens.slice(1)) : areLettered(firsts))) {
    return grid(head, labelled, true);
  }
  const hasHead = head.length > 1 && areLettered(head);
  const bare = rowsFrom(lines, start + Number(hasHead), false);
  const isGrid = hasHead ? bare.rows.length > 0 && align(head, bare.rows[0].tokens) : bare.rows.length > 1;
  return isGrid ? grid(hasHead ? head : [], bare, false) : null;
}

/** @param {Token[]} head @param {{rows: any[], end: number}} found @param {boolean} isLabelled */
function grid(head, { rows, end }, isLabelled) {
  const shift = Number(isLabelled);
  return {
    end,
    columns: head.map(({ text }) => text),
    bars: rows[0].bars.map((at) => at - shift).filter((at) => at > 0),
    rows: rows.map(({ tokens, isUnderRule }) => ({
      label: isLabelled ? tokens[0].text : "",
      cells: tokens.slice(shift).map(({ text }) => text),
      isUnderRule,
    })),
  };
}

/** Lines such as `A: [3, 2, 1]`, two of them or more. @param {string[]} lines @param {number} start */
function listsAt(lines, start) {
  const rows = [];
  for (let match; (match = LIST.exec(lines[start + rows.length] ?? "")); ) {
    const cells = match[2].split(",").map((cell) => cell.trim()).filter(Boolean);
    if (!cells.every((cell) => CELL.test(cell))) break;
    rows.push({ label: match[1], cells, isUnderRule: false });
  }
  return rows.length > 1 ? { end: start + rows.length, columns: [], bars: [], rows } : null;
}

/** The largest grid in a text; null without one, and of more cells than a browser draws at once. @param {string} text @returns {Board | null} */
export function boardOf(text) {
  const lines = text.length > LONGEST_TEXT ? [] : text.split("\n");
  let best = null;
  for (let start = 0; start < lines.length; start += 1) {
    const found = gridAt(lines, start) ?? listsAt(lines, start);
    if (!found) continue;
    const { end, ...rest } = found;
    const size = found.rows.reduce((sum, row) => sum + row.cells.length, 0);
    if (size <= MOST_CELLS && (!best || size > best.size)) {
      const part = (from, to) => lines.slice(from, to).join("\n").trim();
      best = { size, board: { ...rest, before: part(0, start), after: part(end) } };
    }
    start = end - 1;
  }
  return best?.board ?? null;
}

/**
 * How cells look, by their texts: `.` is not used where `_` is empty, a number is the darker the
 * larger, and the symbols of a map (one with walls) and of noughts and crosses have a colour each.
 * @param {Board} board
 */
function looksOf({ rows, columns }) {
  const all = rows.flatMap((row) => row.cells);
  const hasBlanks = all.includes("_") && all.includes(".");
  const isMap = all.includes("#") || all.every((text) => EMPTY.test(text) || text === "X" || text === "O");
  const isMarked = !columns.length && rows.length % 2 === 0 && rows.every(({ cells }, at) =>
    cells.every((text) => (at % 2 ? Object.hasOwn(MARKS, text) : /^\p{Lu}$/u.test(text))));
  return (text, row, column) => {
    if (isMarked) return { kind: MARKS[rows[row | 1].cells[column]] };
    if (text === "." && hasBlanks) return { kind: "unused" };
    if (EMPTY.test(text)) return { kind: "empty" };
    if (text === "#") return { kind: "wall" };
    if (FOUND.test(text)) return { kind: "found" };
    if (/^\d+$/.test(text)) {
      const share = Math.log2(Math.max(1, Math.min(Number(text), LARGEST_NUMBER))) / Math.log2(LARGEST_NUMBER);
      return { kind: "number", name: "--board-share", value: `${Math.round(share * 100)}%` };
    }
    return isMap ? { kind: "symbol", name: "--board-hue", value: (text.codePointAt(0) * 59) % 360 } : { kind: "" };
  };
}

/** @param {string} tag @param {Object<string, any>} attributes @param {Node[]} children */
function node(tag, attributes, children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/** @param {Board} board @param {Board | null} earlier @param {(text: string) => Node[]} show */
function table(board, earlier, show) {
  const { columns, rows, bars } = board;
  const isAlike = earlier?.rows.length === rows.length;
  const all = isAlike ? [...rows, ...earlier.rows] : rows;
  const width = Math.max(...all.map((row) => row.cells.length));
  const look = looksOf(board);
  const hasLabels = rows.some((row) => row.label);
  const line = (row, at) => {
    const cells = Array.from({ length: width }, (_, place) => {
      const text = row.cells[place];
      const bar = bars.includes(place) ? " board-bar" : "";
      const isChanged = isAlike && earlier.rows[at].cells[place] !== text;
      if (text === undefined) return node("td", { class: `board-none${isChanged ? " board-changed" : ""}${bar}` }, []);
      const { kind, name, value } = look(text, at, place);
      const inside = kind === "found" ? text.slice(1, -1) : text;
      const cell = node("td", { class: `board-cell board-${kind || "text"}${isChanged ? " board-changed" : ""}${bar}` }, show(inside));
      if (name) cell.style.setProperty(name, String(value));
      return cell;
    });
    const label = hasLabels ? [node("th", { scope: "row" }, show(row.label))] : [];
    return node("tr", { class: row.isUnderRule && "board-rule" }, [...label, ...cells]);
  };
  const heads = columns.map((text, at) => node("th", { scope: "col", class: bars.includes(at) && "board-bar" }, show(text)));
  const head = heads.length ? [node("thead", {}, [node("tr", {}, [...(hasLabels ? [node("td", {}, [])] : []), ...heads])])] : [];
  const grown = node("table", { class: "board-table" }, [...head, node("tbody", {}, rows.map(line))]);
  grown.style.setProperty("--board-columns", String(width + Number(hasLabels)));
  return node("div", { class: "board-grid", tabindex: width > COLUMNS_IN_SIGHT && "0" }, [grown]);
}

/**
 * Draws a board.
 * @param {string} text The board as the agent sees it.
 * @param {string} [earlier] The board before; cells that have changed since are marked.
 * @param {(text: string) => Node[]} [show] Makes nodes of a text.
 * @returns {HTMLElement | null} Null if the text has no grid.
 */
export function drawBoard(text, earlier = "", show = (part) => [document.createTextNode(part)]) {
  const board = boardOf(text);
  if (!board) return null;
  const around = (part) => (part ? [node("p", { class: "board-text" }, show(part))] : []);
  return node("div", { class: "board" }, [...around(board.before), table(board, boardOf(earlier), show), ...around(board.after)]);
}

/** Draws each `<pre class="board">` in a part of a page that has a grid. @param {ParentNode} [root] */
export function drawBoards(root = document) {
  for (const pre of root.querySelectorAll("pre.board")) {
    const drawn = drawBoard(pre.textContent ?? "");
    if (drawn) pre.replaceWith(drawn);
  }
}

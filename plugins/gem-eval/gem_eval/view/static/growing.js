/**
 * Observations that continue the one before: a turn has `shares`, the number of characters that are
 * those of the turn before, and `added`, what is new. Its whole `observation` is made when it is read.
 */

/** @param {any} episode @returns {any} The same episode. */
export function unfold(episode) {
  episode.turns.forEach((turn, at) => {
    if (!turn.shares) return;
    turn.added = turn.observation;
    Object.defineProperty(turn, "observation", { get: () => whole(episode.turns, at) });
  });
  return episode;
}

/** @param {any[]} turns @param {number} at */
function whole(turns, at) {
  let first = at;
  while (turns[first].shares) first -= 1;
  let text = turns[first].observation;
  for (const turn of turns.slice(first + 1, at + 1)) text = beginning(text, turn.shares) + turn.added;
  return text;
}

/** The first characters of a text, as Python counts them. @param {string} text @param {number} count */
function beginning(text, count) {
  return /[\ud800-\udfff]/.test(text) ? [...text].slice(0, count).join("") : text.slice(0, count);
}

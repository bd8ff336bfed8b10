/**
 * The observations of an episode. In a file, one that begins like that of the agent's turn before has
 * only what is new: `shares` is the number of characters or images that it shares with that one, or
 * an object of such numbers. Here `added` is what is new, and `observation` all of it, put together
 * each time it is read.
 */

/** Gives each turn `added` and its whole `observation`. @param {any} episode @returns {any} The episode. */
export function withObservations(episode) {
  const seen = new Map();
  for (const turn of episode.turns) {
    const turns = seen.get(turn.agent) ?? [];
    seen.set(turn.agent, turns);
    const place = turns.push(turn) - 1;
    turn.added = turn.observation;
    if (turn.shares) Object.defineProperty(turn, "observation", { get: () => wholeOf(turns, place, []) });
  }
  return episode;
}

/**
 * @param {any[]} turns The turns of an agent.
 * @param {number} place
 * @param {string[]} path The keys to the value.
 * @returns {any} The whole value.
 */
function wholeOf(turns, place, path) {
  const last = pick(turns[place].added, path);
  if (last !== null && typeof last === "object" && !Array.isArray(last)) {
    return Object.fromEntries(Object.keys(last).map((key) => [key, wholeOf(turns, place, [...path, key])]));
  }
  const parts = [];
  let wanted = Infinity;
  for (let at = place; at >= 0 && wanted > 0; at -= 1) {
    const shares = Number(pick(turns[at].shares, path)) || 0;
    if (shares >= wanted) continue;
    parts.unshift(firstOf(pick(turns[at].added, path), wanted - shares));
    wanted = shares;
  }
  if (parts.length === 1) return parts[0];
  return Array.isArray(last) ? parts.flat() : parts.join("");
}

/** @param {any} value @param {string[]} path */
function pick(value, path) {
  return path.reduce((found, key) => (found && Object.hasOwn(found, key) ? found[key] : undefined), value);
}

/** The first characters of a text, as Python counts them, or items of a list. @param {any} value @param {number} count */
function firstOf(value, count) {
  if (typeof value !== "string") return Array.isArray(value) ? value.slice(0, count) : value;
  return count >= value.length ? value : [...value].slice(0, count).join("");
}

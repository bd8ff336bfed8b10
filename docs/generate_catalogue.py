"""Generates docs/catalogue.md from the registry and docs/scores.json: every environment.

Usage: ``python docs/generate_catalogue.py [--output FILE]`` (``make docs``). ``docs/measure.py``
measures the figures. Levels that differ only in their parameters share a row.
"""

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from measure import read_scores
from pictures import FAMILIES

from gem_core import EnvSpec, find_envs
from gem_tasks.dataset_spec import LICENSE_ON_PAGE

PAGE = Path(__file__).parent / "catalogue.md"
HEAD = """\
# All environments

| family | ids | it teaches | it needs | licence of the data |
|---|---:|---|---|---|"""
NOTES = """
`make docs` generates this page from the registry; `gem-core show ID` prints the parameters of an
environment, its documentation and an example.

- **Floor** is the mean return of the random agent, **ceiling** that of the oracle, a scripted
  player that solves the environment. `python docs/measure.py` measures both. Where the data are not
  installed with the package, both cells are empty.
- **Data** names the origin of the tasks and its licence. The page of a dataset on the hub states
  the licence of that dataset.
- **Return** is the range of an episode's return. An agent that never gives a valid action gets the
  smallest one, perfect play the largest.
- The levels of a game share a row, with slashes between their figures. Parameters are set by
  `make(ID, NAME=VALUE)` and, in commands, by `env.NAME=VALUE`."""
PAGES = {
    "code": "programs.md",
    "eval": "tasks.md",
    "game": "games.md",
    "logic": "tasks.md",
    "math": "tasks.md",
    "mcp": "mcp.md",
    "qa": "tasks.md",
    "rg": "reasoning-gym.md",
    "swe": "swe.md",
    "tau": "dialogues.md",
    "terminal": "terminal-tasks.md",
    "tools": "dialogues.md#tool-worlds",
    "webshop": "webshop.md",
}
"""The page about each family."""
LISTED = {"rg"}
"""Families whose ids are listed on their own page."""
FACTS = ("teaches", "score", "needs", "data", "return")
SCORES = read_scores()
Levels = list[EnvSpec]


def main() -> None:
    """Generate the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=PAGE, help="where to write the page")
    parser.parse_args().output.write_text("\n".join([HEAD, *_page()]) + "\n")


def _page() -> Iterator[str]:
    specs = sorted(find_envs("*"), key=lambda spec: (spec.namespace, spec.id))
    families = {name: list(group) for name, group in groupby(specs, lambda spec: spec.namespace)}
    for name, group in families.items():
        cells = [f"[`{name}:`](#{name})", str(len(group))]
        yield _line([*cells, _all(group, "teaches"), _needs(group), _all(group, "license")])
    yield NOTES
    for name, group in families.items():
        yield f"\n## {name}\n"
        yield from _family(name, group)


def _family(name: str, group: Levels) -> Iterator[str]:
    """Yield a table for each kind of environment in a family."""
    if name in PAGES:
        yield f"[More about these environments]({PAGES[name]}).\n"
    if name in FAMILIES:
        yield f"<!-- pictures: {' '.join(_shown_in(name, group))} -->\n"
    kinds: dict[tuple[str, ...], Levels] = {}
    for spec in group:
        facts = (spec.metadata.get("teaches", ""), spec.metadata.get("score", ""))
        kinds.setdefault((spec.source, *facts), []).append(spec)
    for position, kind in enumerate(kinds.values()):
        yield from [""] * bool(position)
        yield from _kind(kind) if name not in LISTED else _introduction(kind)


def _shown_in(name: str, group: Levels) -> list[str]:
    """Return the ids whose pictures the site shows: one of each game, one of another family."""
    if name != "game":
        return [FAMILIES[name]]
    return [next(levels).id for _, levels in groupby(group, lambda spec: spec.entry_point)]


def _kind(group: Levels) -> Iterator[str]:
    """Yield what the environments of a kind have in common, and their table."""
    yield from _introduction(group)
    others = [fact for fact, text in _facts(group).items() if text is None]
    yield _line(["id", "what it is", "floor", "ceiling", *others])
    yield "|---|---|---:|---:" + "|---" * len(others) + "|"
    for levels in [list(same) for _, same in groupby(group, _same)]:
        cells = [_ids(levels), levels[0].description, *_scores(levels)]
        yield _line([*cells, *(_fact(levels[0], fact) for fact in others)])


def _introduction(group: Levels) -> Iterator[str]:
    """Yield a line for each fact that all environments of a kind share."""
    episodes = _common(str(row["episodes"]) for row in map(_row, group) if row)
    measured = episodes and f"{episodes} episodes of each agent"
    words = {**_facts(group), "measured over": measured}
    yield from (f"- {word}: {text}" for word, text in words.items() if text)
    if group[0].namespace in LISTED:
        floors, ceilings = zip(*(_scores([spec]) for spec in group if _row(spec)), strict=True)
        yield f"- floor: {_range(floors)}; ceiling: {_range(ceilings)}"
    else:
        yield ""


def _range(texts: Sequence[str]) -> str:
    values = sorted(set(texts), key=float)
    return " to ".join(dict.fromkeys((values[0], values[-1])))


def _facts(group: Levels) -> dict[str, str | None]:
    """Return the facts of a kind; None where its environments differ."""
    return {fact: _common(_fact(spec, fact) for spec in group) for fact in FACTS}


def _fact(spec: EnvSpec, fact: str) -> str:
    """Return a fact as it is shown; the data are shown with their licence."""
    text = _reach(spec) if fact == "return" else spec.metadata.get(fact, "")
    if fact == "data" and text:
        terms = spec.metadata.get("license", "")
        is_told = terms in ("", text, LICENSE_ON_PAGE)
        return _linked(text) + ("" if is_told else f"; {terms}")
    return text


def _same(spec: EnvSpec) -> tuple[object, ...]:
    """Return what levels share that have one row."""
    return spec.entry_point, spec.description, tuple(spec.kwargs), _reach(spec)


def _ids(levels: Levels) -> str:
    """Return the ids: the first one, and how those of further levels end."""
    names = [spec.id for spec in levels]
    stem = names[0]
    while not all(name.startswith(stem) for name in names):
        stem = stem.rpartition("-")[0]
    return ", ".join([f"`{names[0]}`", *(f"`{name.removeprefix(stem)}`" for name in names[1:])])


def _scores(levels: Levels) -> tuple[str, str]:
    """Return the floors and the ceilings; empty where nothing was measured."""
    found = [_row(spec) for spec in levels]
    cells = []
    for agent in ("random", "oracle"):
        means = [f"{round(row[agent]['return'], 2):g}" if agent in row else "" for row in found]
        cells.append(means[0] if len(set(means)) == 1 else " / ".join(means))
    return cells[0], cells[1]


def _row(spec: EnvSpec) -> dict[str, Any]:
    """Return what was measured of an environment; nothing without data of its own."""
    return SCORES.get(spec.id, {})


def _reach(spec: EnvSpec) -> str:
    return "" if spec.return_range is None else "{:g} to {:g}".format(*spec.return_range)


def _common(values: Iterable[str]) -> str | None:
    """Return the value that all have; None if they differ."""
    found = set(values)
    return found.pop() if len(found) == 1 else None


def _all(group: Levels, fact: str) -> str:
    """Return the different values of a fact, the most frequent first."""
    values = Counter(spec.metadata.get(fact, "") for spec in group)
    return "; ".join(text for text, _ in values.most_common() if text)


def _needs(group: Levels) -> str:
    """Return what the environments of a family need, and what only some of them need."""
    needs = Counter(
        one for spec in group for one in spec.metadata.get("needs", "").split(", ") if one
    )
    return ", ".join(
        one if count == len(group) else f"for some: {one}" for one, count in needs.most_common()
    )


def _linked(text: str) -> str:
    """Return a text with an address of the hub as a link."""
    name = text.partition("datasets/")[2] or text
    return f"[{name}]({text})" if text.startswith("https://") else text


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


if __name__ == "__main__":
    main()

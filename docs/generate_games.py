"""Generates docs/games.md from the registry: rules, levels, and measured returns.

The site shows a picture of each game. Usage: ``python docs/generate_games.py [--output FILE]``
(``make docs``). ``docs/measure.py`` measures the figures.
"""

import argparse
import inspect
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from measure import EPISODES, read_scores

from gem_core import EnvSpec, find_envs

PAGE = Path(__file__).parent / "games.md"
HEAD = f"""\
# Games

`make docs` generates this page from the registry. Every game reads its action from the last
`\\boxed{{...}}` of a reply. Unless a game says otherwise, a reply without a valid one ends the
episode with a reward of -0.1, an invalid move uses a turn and has a reward of 0.0, the turn limit
truncates the episode, and perfect play has a return of 1.0.

The columns *random* and *oracle* give the mean return of these agents and the share of their
episodes that are won, over {EPISODES["game"]} episodes each (`python docs/measure.py 'game:*'`).
Parameters that are None are drawn in each episode. `gem-core show ID` says what each parameter
means, and prints a first observation and the oracle's action.
"""


def main() -> None:
    """Generate the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=PAGE, help="where to write the page")
    sections = _sections(find_envs("game:*"))
    parser.parse_args().output.write_text("\n".join([HEAD, *sections]))


def _sections(specs: list[EnvSpec]) -> Iterator[str]:
    for _, group in groupby(specs, key=lambda spec: spec.entry_point):
        levels = list(group)
        target = levels[0].load()
        yield f"## {target.__name__.removesuffix('Env')}\n"
        yield _rules(inspect.getdoc(target) or "")
        yield f"<!-- pictures: {levels[0].id} -->\n"
        yield from _table(levels)


def _table(levels: list[EnvSpec]) -> Iterator[str]:
    """Yield the levels of a game with their parameters and what the agents get."""
    names = list(levels[0].kwargs)
    yield f"| id | {' | '.join(f'`{name}`' for name in names)} | random | oracle |"
    yield "|---" * (len(names) + 1) + "|---:|---:|"
    scores = read_scores()
    for spec in levels:
        values = " | ".join(str(spec.kwargs[name]) for name in names)
        figures = scores.get(spec.id, {})
        cells = [_figure(figures.get(agent)) for agent in ("random", "oracle")]
        yield f"| `{spec.id}` | {values} | {' | '.join(cells)} |"
    yield ""


def _figure(score: dict[str, float] | None) -> str:
    return "" if score is None else f"{score['return']:.3f} ({score['success']:.0%})"


def _rules(docstring: str) -> str:
    """Return the prose of a Google-style docstring."""
    return docstring.partition("\nArgs:\n")[0].strip().replace("``", "`") + "\n"


if __name__ == "__main__":
    main()

"""Generates docs/games.md from the registry: rules, examples, and measured returns of agents.

Usage: ``python docs/generate.py [--episodes N]`` (``make docs``). The default of 200 episodes takes
several minutes; ``--episodes 0`` keeps the figures of the current page.
"""

import argparse
import inspect
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from rich.progress import track

from gem_core import EnvSpec, find_envs, make, make_agent
from gem_core.factory import make_factory
from gem_rollout import collect

PAGE = Path(__file__).parent / "games.md"
HEAD = """\
# Games

`make docs` generates this page from the registry. Every game reads its action from the last
`\\boxed{{...}}` of a reply; a reply without a valid one ends the episode with a reward of -0.1.
Unless a game says otherwise, an invalid move uses a turn and has a reward of 0.0, the turn limit
truncates the episode, and perfect play has a return of 1.0.

The columns *oracle* and *random* give the mean return of these agents and their success rate (the
share of episodes with the maximum return), over {episodes} episodes each:
`gem-core run 'envs=game:*' 'agent=[oracle,random]' episodes={episodes}`.
Options that are None are drawn in each episode.
"""
AGENTS = ("oracle", "random")
Figures = dict[str, list[str]]


def main() -> None:
    """Generate the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=200, help="episodes per id and agent")
    parser.add_argument("--output", type=Path, default=PAGE, help="where to write the page")
    options = parser.parse_args()
    episodes = options.episodes
    specs = find_envs("game:*")
    old = PAGE.read_text() if PAGE.exists() else ""
    if episodes:
        figures = {spec.id: _measure(spec, episodes) for spec in track(specs, "measuring")}
    else:
        figures = _figures_of(old)
        episodes = int((re.search(r"episodes=(\d+)", old) or [0, 200])[1])
    options.output.write_text(
        "\n".join([HEAD.format(episodes=episodes), *_sections(specs, figures)])
    )


def _measure(spec: EnvSpec, episodes: int) -> list[str]:
    cells = []
    for agent in AGENTS:
        played = list(
            collect(make_factory(spec), lambda name=agent: make_agent(name), episodes=episodes)
        )
        errors = [trajectory.error for trajectory in played if trajectory.error]
        if errors:
            raise RuntimeError(f"{agent} on {spec.id}: {errors[0]['traceback']}")
        mean = sum(trajectory.episode_return for trajectory in played) / episodes
        success = sum(bool(trajectory.success) for trajectory in played) / episodes
        cells += [f"{mean:.3f}", f"{success:.1%}"]
    return cells


def _figures_of(page: str) -> Figures:
    rows = re.findall(r"^\| `(game:[^`]+)` \|[^|]*\|(.*)\|$", page, re.MULTILINE)
    return {env_id: [cell.strip() for cell in cells.split("|")] for env_id, cells in rows}


def _sections(specs: list[EnvSpec], figures: Figures) -> Iterator[str]:
    for _, group in groupby(specs, key=lambda spec: spec.entry_point):
        levels = list(group)
        target = levels[0].load()
        yield f"## {target.__name__.removesuffix('Env')}\n"
        yield _as_markdown(inspect.getdoc(target) or "")
        yield "| id | options | oracle | success | random | success |"
        yield "|---|---|---|---|---|---|"
        for spec in levels:
            parameters = ", ".join(f"{name}={value}" for name, value in spec.kwargs.items())
            cells = figures.get(spec.id, ["?"] * 2 * len(AGENTS))
            yield f"| `{spec.id}` | {parameters} | {' | '.join(cells)} |"
        yield ""
        for spec in levels:
            yield _example(spec)


def _as_markdown(docstring: str) -> str:
    """Convert a Google-style docstring to prose and a list of options."""
    prose, _, rest = docstring.partition("\nArgs:\n")
    arguments, _, _ = rest.partition("\nRaises:\n")
    items = re.sub(r"\n {8,}", " ", "\n" + arguments.rstrip())
    lines = re.sub(r"\n    (\w+): ", r"\n- `\1`: ", items)
    return f"{prose.strip()}\n{lines}\n".replace("``", "`")


def _example(spec: EnvSpec) -> str:
    env = make(spec)
    observation, info = env.reset(seed=0)
    text = f"{observation}\n{info['suffix']}".rstrip()
    return (
        f"<details><summary>first observation of <code>{spec.id}</code>, and an action"
        f"</summary>\n\n"
        f"```text\n{text}\n```\n\n```text\n{env.sample_random_action()}\n```\n\n</details>\n"
    )


if __name__ == "__main__":
    main()

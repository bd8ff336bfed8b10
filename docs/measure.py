"""Measures what the random agent and the oracle get in every environment: docs/scores.json.

Usage: ``python docs/measure.py [PATTERN ...] [--episodes N]``. The seeds are fixed, so the same
command gives the same figures. Figures of ids that no pattern matches are kept. All ids take about
half an hour; ``make docs`` reads the file.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from rich.progress import track

from gem_core import EnvSpec, find_envs, make_agent
from gem_core.factory import make_factory
from gem_rollout import collect

FILE = Path(__file__).parent / "scores.json"
AGENTS = ("random", "oracle")
EPISODES = {"game": 200, "terminal": 24, "mcp": 10}
"""Episodes by family; 100 in others. Those of some families take seconds."""
Scores = dict[str, dict[str, Any]]


def main() -> None:
    """Measure, and write the file after each environment."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("patterns", nargs="*", default=["*"], help="ids; default: all of them")
    parser.add_argument("--episodes", type=int, help="episodes of each id and agent")
    parser.add_argument("--output", type=Path, default=FILE, help="where to write the figures")
    options = parser.parse_args()
    specs = [spec for pattern in options.patterns for spec in find_envs(pattern) if plays(spec)]
    for spec in track(specs, "measuring"):
        episodes = options.episodes or EPISODES.get(spec.namespace, 100)
        scores = read_scores(options.output) | {spec.id: measured(spec, episodes)}
        _write(options.output, scores)


def plays(spec: EnvSpec) -> bool:
    """Return whether an environment has data that are installed with it."""
    return not spec.kwargs.get("dataset_name") and not spec.check_kwargs.get("data")


def measured(spec: EnvSpec, episodes: int) -> dict[str, Any]:
    """Return the mean return and the share of successes of each agent.

    Raises:
        RuntimeError: An episode failed.
    """
    found: dict[str, Any] = {"episodes": episodes}
    for agent in AGENTS if spec.oracle else AGENTS[:1]:
        played = collect(
            make_factory(spec), lambda name=agent: make_agent(name), episodes=episodes, seed=0
        )
        found[agent] = _mean(spec, agent, list(played))
    return found


def _mean(spec: EnvSpec, agent: str, played: list[Any]) -> dict[str, float]:
    for trajectory in played:
        if trajectory.error:
            raise RuntimeError(f"{agent} on {spec.id}: {trajectory.error['traceback']}")
    mean = sum(trajectory.episode_return for trajectory in played) / len(played)
    success = sum(bool(trajectory.success) for trajectory in played) / len(played)
    return {"return": round(mean, 3), "success": round(success, 3)}


def read_scores(file: Path = FILE) -> Scores:
    """Return the figures of a file, by id; none if the file does not exist."""
    scores: Scores = json.loads(file.read_text()) if file.exists() else {}
    return scores


def _write(file: Path, scores: Scores) -> None:
    """Replace the file; an interrupted run leaves the old one or the new one."""
    lines = [f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in sorted(scores.items())]
    new = file.with_suffix(".new")
    new.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    new.replace(file)


if __name__ == "__main__":
    main()

"""A real language model in the environments of the suite, one environment after the other."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from common.cpu import own_cpu_clock
from learning.store import append_line, read_lines, versions

from baselines.envs import factories, scored_tasks
from baselines.scripted import collected
from gem_core import make_agent
from gem_rollout import Trajectory

__all__ = ["EPISODES", "FILE", "MAX_NEW_TOKENS", "play_real"]

FILE = "baselines-real.jsonl"
"""A line for each model and environment."""
EPISODES = 10
MAX_NEW_TOKENS = 32


def play_real(model: str, name: str, envs: Sequence[str], path: Path) -> None:
    """Play environments that are not in the file yet, and append their figures to it.

    Args:
        model: A model of the agent ``transformers``: an id of ``get-model``, a folder or a name on
            the hub.
        name: Its name in the file.
        envs: Names of environments of the suite, in this order.
        path: The file.

    Raises:
        SystemExit: The suite lacks an environment.
    """
    if unknown := set(envs) - factories().keys():
        raise SystemExit(f"Not in the suite: {', '.join(sorted(unknown))}.")
    done = {(one["model"], one["env"]) for one in read_lines(path)}
    make = partial(make_agent, "transformers", model=model, max_new_tokens=MAX_NEW_TOKENS, seed=0)
    kept = make()  # while one agent exists, the model stays loaded
    for env in envs:
        if (name, env) not in done:
            figures = {"model": name, "env": env, **_figures(env, make), "versions": versions()}
            append_line(path, figures)
            print(f"{name} in {env}: {figures.get('error') or figures['success']}", flush=True)
    kept.close()


def _figures(env: str, make: Any) -> dict[str, Any]:
    cpu_seconds = own_cpu_clock()
    played = collected(scored_tasks(env), make, 0, EPISODES, concurrency=EPISODES)
    errors = [one.error for one in played if one.error]
    if errors:
        return {"error": f"{errors[0]['type']}: {errors[0]['message']}"}
    return {
        "episodes": len(played),
        "success": fmean(bool(one.success) for one in played),
        "return": round(fmean(one.episode_return for one in played), 4),
        "turns": round(fmean(len(one.turns) for one in played), 2),
        "format_errors": fmean(map(_has_format_error, played)),
        "cut": round(_cut(played), 4),
        "cpu_seconds": round(cpu_seconds() / len(played), 3),
    }


def _has_format_error(trajectory: Trajectory) -> bool:
    return any(turn.info.get("format_error") for turn in trajectory.turns)


def _cut(played: Sequence[Trajectory]) -> float:
    """Return the share of the replies that end at the limit of tokens."""
    made = [turn.generation for one in played for turn in one.turns if turn.generation is not None]
    return fmean(one.finish_reason == "length" for one in made) if made else 0.0

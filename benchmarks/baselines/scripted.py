"""Episodes of the agents without a model: those of ``gem-core eval suite=baselines``."""

import time
from functools import partial
from statistics import fmean
from typing import Any

from common.cpu import own_cpu_clock

from baselines.envs import factories, suite
from gem_core import make_agent
from gem_rollout import Component, Trajectory, collect

__all__ = ["play"]

CONCURRENCY = 4
"""Episodes at the same time; agents and tasks do not depend on it."""


def play(env: str, agent: str, seed: int, episodes: int | None = None) -> dict[str, Any]:
    """Play the tasks of a seed, and return the means over the episodes, and what they cost.

    Args:
        env: Name of the environment in the suite.
        agent: Id of the agent.
        seed: The seed of ``eval``.
        episodes: Number of tasks; None for that of the suite.

    Returns:
        Means over the episodes: ``return``, ``success`` (None if the environment does not define
        it), ``turns``, ``cpu_seconds`` and ``seconds``; if episodes failed, the first ``error``
        in place of the first three.
    """
    wanted = suite().settings["episodes"] if episodes is None else episodes
    collected(env, agent, seed, 1)  # loads data and starts helpers
    began, cpu_seconds = time.perf_counter(), own_cpu_clock()
    played = collected(env, agent, seed, wanted)
    spent = {"cpu_seconds": cpu_seconds(), "seconds": time.perf_counter() - began}
    return {
        "env": env,
        "agent": agent,
        "seed": seed,
        "episodes": len(played),
        **_means(played),
        **{name: round(value / len(played), 6) for name, value in spent.items()},
    }


def collected(env: str, agent: str, seed: int, episodes: int) -> list[Trajectory]:
    """Return the first episodes of a seed."""
    return list(
        collect(
            {env: Component(factories()[env])},
            partial(make_agent, agent),
            episodes=[(env, index) for index in range(episodes)],
            seed=seed,
            concurrency=CONCURRENCY,
            agent_name=agent,
        )
    )


def _means(played: list[Trajectory]) -> dict[str, Any]:
    errors = [one.error for one in played if one.error]
    if errors:
        return {"error": f"{errors[0]['type']}: {errors[0]['message']}"}
    judged = [float(one.success) for one in played if one.success is not None]
    return {
        "return": round(fmean(one.episode_return for one in played), 4),
        "success": round(fmean(judged), 4) if judged else None,
        "turns": round(fmean(len(one.turns) for one in played), 2),
    }

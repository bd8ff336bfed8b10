"""Episodes of the agents without a model: those of ``gem-core eval suite=baselines``."""

import time
from collections.abc import Callable
from functools import partial
from statistics import fmean
from typing import Any

from common.cpu import own_cpu_clock

from baselines.envs import factories, suite
from gem_core import make_agent
from gem_core.agent import Agent
from gem_core.factory import EnvFactory
from gem_rollout import Component, Trajectory, collect

__all__ = ["collected", "measured", "play"]


def play(env: str, agent: str, seed: int, episodes: int | None = None) -> dict[str, Any]:
    """Play the tasks of a seed, and return the means over the episodes, and what they cost.

    Args:
        env: Name of the environment in the suite.
        agent: Id of the agent.
        seed: The seed of ``eval``.
        episodes: Number of tasks; None for that of the suite.

    Returns:
        ``env``, ``agent``, ``seed`` and the figures of ``measured``.
    """
    made = measured(factories()[env], partial(make_agent, agent), seed, episodes)
    return {"env": env, "agent": agent, "seed": seed, **made}


def measured(
    factory: EnvFactory, make: Callable[[], Agent], seed: int, episodes: int | None = None
) -> dict[str, Any]:
    """Play the first tasks of a seed.

    Args:
        factory: Makes the environment.
        make: Makes the agent.
        seed: The seed of ``collect``.
        episodes: Number of tasks; None for that of the suite.

    Returns:
        Means over the episodes: ``return``, ``success`` (None if the environment does not define
        it), ``turns``, ``cpu_seconds`` and ``seconds``; if episodes failed, the first ``error``
        in place of the first three.
    """
    wanted = suite().settings["episodes"] if episodes is None else episodes
    collected(factory, make, seed, 1)  # loads data and starts helpers
    began, cpu_seconds = time.perf_counter(), own_cpu_clock()
    played = collected(factory, make, seed, wanted)
    spent = {"cpu_seconds": cpu_seconds(), "seconds": time.perf_counter() - began}
    return {
        "episodes": len(played),
        **_means(played),
        **{name: round(value / len(played), 6) for name, value in spent.items()},
    }


def collected(
    factory: EnvFactory,
    make: Callable[[], Agent],
    seed: int,
    episodes: int,
    *,
    concurrency: int = 4,
) -> list[Trajectory]:
    """Return the first episodes of a seed, which do not depend on ``concurrency``."""
    return list(
        collect(
            {factory.spec.id: Component(factory)},
            make,
            episodes=[(factory.spec.id, index) for index in range(episodes)],
            seed=seed,
            concurrency=concurrency,
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

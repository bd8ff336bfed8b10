"""The workers in which a command plays episodes: ``executor=ID`` and its parameters."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pydantic

from gem_core.config import describe_validation_error, part_kwargs
from gem_core.env import Env
from gem_core.errors import ConfigError
from gem_core.mixture import Component
from gem_core.notices import results_alone
from gem_core.plugins import default_registry
from gem_core.specs import check_kwargs
from gem_rollout.episodes.processes import in_processes
from gem_workers.pools import POOLS, Pool

__all__ = ["EXECUTOR", "EpisodeWorkers", "executor_of"]

EXECUTOR: dict[str, Any] = {"play": "auto"}
"""The default of the key ``executor``: without an id, episodes are played in the command itself."""


class EpisodeWorkers:
    """The workers in which a command plays the episodes of its environments.

    Args:
        pool: The workers; None for this process.
        play: See ``gem_rollout.episodes.processes.in_processes``.
    """

    def __init__(self, pool: Pool | None, play: Any) -> None:
        self._pool = pool
        self._play = play

    def factory(self, make_env: Callable[[], Env]) -> Any:
        """Return a function that makes the environment in the workers; it keeps the ``spec``."""
        if self._pool is None:
            return make_env
        return in_processes(make_env, pool=self._pool, play=self._play)

    def sources(self, sources: Mapping[str, Component]) -> dict[str, Component]:
        """Return the environments of a mixture, made in the workers."""
        return {
            name: replace(one, make_env=self.factory(one.make_env)) for name, one in sources.items()
        }


@contextlib.contextmanager
def executor_of(
    config: Mapping[str, Any], *, moves_agents: bool = True
) -> Iterator[EpisodeWorkers]:
    """Open the pool that a configuration chooses, and close it at the end.

    Args:
        config: The configuration of a command. Its ``executor`` has the pool's ``id`` and
            parameters, and ``play``.
        moves_agents: Whether agents may act in workers.

    Raises:
        ConfigError: A parameter has a value that it cannot have.
        GemError: The pool does not exist, or cannot be made.
    """
    kwargs = {**EXECUTOR, **(config.get("executor") or {})}
    play = kwargs.pop("play")
    if play == "episodes" and not moves_agents:
        raise ConfigError(
            "executor.play=episodes needs agents that can act in a worker, and the model that is "
            "trained is in this process. Choose executor.play=steps."
        )
    if "id" not in kwargs:
        if kwargs:
            raise ConfigError(f"executor needs an id beside {', '.join(kwargs)}: executor=ray.")
        yield EpisodeWorkers(None, play)
        return
    with results_alone():
        pool = _pool(kwargs)
    with contextlib.closing(pool):
        yield EpisodeWorkers(pool, play if moves_agents else "steps")


def _pool(kwargs: dict[str, Any]) -> Pool:
    spec = default_registry().find(POOLS, kwargs.pop("id"))
    target = spec.load()
    check_kwargs(target, kwargs, f"pool {spec.id!r}")
    try:
        kwargs = part_kwargs(target, kwargs)
    except pydantic.ValidationError as error:
        lines = describe_validation_error(error, "executor")
        raise ConfigError("\n  ".join(["The configuration cannot be used:", *lines])) from error
    made: Pool = spec.make(**kwargs)
    return made

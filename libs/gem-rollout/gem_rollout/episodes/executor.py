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
from gem_core.specs import EXECUTORS, check_kwargs
from gem_rollout.episodes.processes import in_processes
from gem_workers.pools import Pool

__all__ = ["EpisodeWorkers", "executor_of"]


class EpisodeWorkers:
    """The workers in which a command plays the episodes of its environments.

    Args:
        pool: The workers; None for this process.
    """

    def __init__(self, pool: Pool | None) -> None:
        self._pool = pool

    def factory(self, make_env: Callable[[], Env]) -> Any:
        """Return a function that makes the environment in the workers; it keeps the ``spec``."""
        return make_env if self._pool is None else in_processes(make_env, pool=self._pool)

    def sources(self, sources: Mapping[str, Component]) -> dict[str, Component]:
        """Return the environments of a mixture, made in the workers."""
        return {
            name: replace(one, make_env=self.factory(one.make_env)) for name, one in sources.items()
        }


@contextlib.contextmanager
def executor_of(config: Mapping[str, Any]) -> Iterator[EpisodeWorkers]:
    """Open the executor that a configuration chooses, and close it at the end.

    Args:
        config: The configuration of a command. Its ``executor`` has an ``id`` and parameters;
            without it, episodes are played in this process.

    Raises:
        ConfigError: The executor has no workers, or a parameter has a value that it cannot have.
        GemError: The executor does not exist, or cannot be made.
    """
    kwargs = dict(config.get("executor") or {})
    if "id" not in kwargs:
        if kwargs:
            raise ConfigError(f"executor needs an id beside {', '.join(kwargs)}: executor=ray.")
        yield EpisodeWorkers(None)
        return
    with results_alone():
        pool = _pool(kwargs)
    with contextlib.closing(pool):
        yield EpisodeWorkers(pool)


def _pool(kwargs: dict[str, Any]) -> Pool:
    spec = default_registry().find(EXECUTORS, kwargs.pop("id"))
    target = spec.load()
    check_kwargs(target, kwargs, f"executor {spec.id!r}")
    try:
        kwargs = part_kwargs(target, kwargs)
    except pydantic.ValidationError as error:
        lines = describe_validation_error(error, "executor")
        raise ConfigError("\n  ".join(["The configuration cannot be used:", *lines])) from error
    made = spec.make(**kwargs)
    if isinstance(made, Pool):
        return made
    made.close()
    raise ConfigError(
        f"The executor {spec.id!r} runs vectors, and plays no episodes. Choose one with workers, "
        f"such as executor=processes; without executor= they are played in this process."
    )

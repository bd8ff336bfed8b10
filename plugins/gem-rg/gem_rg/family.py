"""The family ``rg``, which resolves ids to specs without importing reasoning_gym."""

import functools
from collections.abc import Collection, Iterable
from importlib import metadata
from typing import Any

from gem_core.specs import EnvSpec
from gem_rg.catalog import DEFAULT_MIX, DESCRIPTIONS, VERSION

__all__ = ["ReasoningGymFamily"]

_PREFIX = "rg:"


class ReasoningGymFamily:
    """The tasks of reasoning-gym; see ``gem_core.specs.Family``.

    It lists the tasks of the version in ``catalog``. If another version is installed, a worker
    looks up ids that are not listed.
    """

    def ids(self) -> Iterable[str]:
        return [_PREFIX + name for name in DESCRIPTIONS]

    def spec(self, env_id: str) -> EnvSpec | None:
        name = env_id.removeprefix(_PREFIX)
        if name not in DESCRIPTIONS and name not in _uncatalogued():
            return None
        config: dict[str, Any] = {"datasets": DEFAULT_MIX} if name == "composite" else {}
        return EnvSpec(
            id=env_id,
            entry_point="gem_rg.env:ReasoningGymEnv",
            kwargs={"name": name, "config": config},
            description=DESCRIPTIONS.get(name, f"reasoning-gym's task {name}"),
            oracle="gem_tasks:GoldOracle",
            return_range=(0.0, 1.0),
        )


@functools.cache
def _uncatalogued() -> Collection[str]:
    """Return the task names of reasoning-gym if its version is not that of the catalog."""
    if metadata.version("reasoning-gym") == VERSION:
        return ()
    from gem_rg.datasets import task_names  # noqa: PLC0415 - starts a worker

    return task_names()

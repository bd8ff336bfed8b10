"""Goes on with a run: what it holds already, and whether more of the same may be added."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gem_core.errors import ConfigError
from gem_core.seeding import child_seed
from gem_eval.episodes import Episode
from gem_rollout import Trajectory, TrajectoryFile
from gem_rollout.runs import Run, without_secrets

__all__ = ["check_same", "differences", "known_episodes"]

_SAME = ("env", "mixture", "tools", "wrappers", "tool_use", "seed", "k", "fork_groups")
"""Keys that must not change: they decide what an episode is."""
_TRANSPORT = {
    "api_key",
    "api_key_env",
    "base_url",
    "max_attempts",
    "max_in_flight",
    "max_retry_seconds",
    "timeout",
}
"""Parameters of agents that may change: how a model is reached."""


def check_same(run: Run, config: Mapping[str, Any]) -> None:
    """Refuse to go on with a run whose episodes were played under another configuration.

    More episodes, environments and agents are fine, and other limits.

    Raises:
        ConfigError: It names each key that differs.
    """
    old = run.info().get("config")
    if not isinstance(old, Mapping):
        raise ConfigError(f"{run.path} does not say how it was made: choose another out.")
    new = without_secrets(config)
    lines = [line for key in _SAME for line in differences(key, old.get(key), new.get(key))]
    agents, others = old.get("agent") or {}, new.get("agent") or {}
    for name in sorted(set(agents) & set(others)):
        known = [
            {key: value for key, value in part.items() if key not in _TRANSPORT}
            if isinstance(part, Mapping)
            else part
            for part in (agents[name], others[name])
        ]
        lines += differences(f"agent.{name}", *known)
    if lines:
        raise ConfigError(
            "\n  ".join(
                [
                    f"{run.path} was made with another configuration, now:",
                    *lines,
                    "Choose another out.",
                ]
            )
        )


def differences(place: str, old: Any, new: Any) -> list[str]:
    """Return a line for each value that two configurations have at a place and do not share."""
    if isinstance(old or {}, Mapping) and isinstance(new or {}, Mapping) and not _is_part(old, new):
        old, new = old or {}, new or {}
        return [
            line
            for key in sorted({*old, *new})
            for line in differences(f"{place}.{key}", old.get(key), new.get(key))
        ]
    return [] if (old or None) == (new or None) else [f"{place}: {_said(old)} -> {_said(new)}"]


def _is_part(old: Any, new: Any) -> bool:
    """Tell whether one of them is a part with an id, and the other is not there."""
    return any(
        not one and isinstance(other, Mapping) and "id" in other
        for one, other in ((old, new), (new, old))
    )


def _said(value: Any) -> str:
    return repr(value.get("id", value) if isinstance(value, Mapping) else value)


def known_episodes(run: Run, config: Mapping[str, Any]) -> list[Episode]:
    """Return the episodes that a run holds already.

    With ``repeat_errors`` those that ended in an error are taken out of the file, to be played
    once more.

    Raises:
        ConfigError: The file's episodes have other seeds.
    """
    if config["repeat_errors"]:
        _keep_sound(run.trajectories_path)
    else:
        TrajectoryFile(run.trajectories_path).close()  # drops a last line that was cut
    return [_checked(trajectory, run, config) for trajectory in run.trajectories()]


def _checked(trajectory: Trajectory, run: Run, config: Mapping[str, Any]) -> Episode:
    if trajectory.seed != child_seed(config["seed"], trajectory.group):
        raise ConfigError(f"{run.path} was made with another seed than {config['seed']}.")
    return Episode.of(trajectory)


def _keep_sound(path: Path) -> None:
    """Rewrite a file of trajectories without those that ended in an error; whole or not at all."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    run = Run(path)
    with TrajectoryFile(fresh) as file:
        for trajectory in run.trajectories():
            if trajectory.error is None:
                file.append(trajectory)
    fresh.replace(path)

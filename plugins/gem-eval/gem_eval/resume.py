"""Continues a run: reads its episodes, and checks that more of the same may be added."""

from collections.abc import Mapping
from typing import Any

from gem_core.errors import ConfigError
from gem_core.seeding import child_seed
from gem_eval.episodes import EpisodeRecord
from gem_rollout import TrajectoryFile
from gem_rollout.records.redaction import redact, with_hidden
from gem_rollout.records.runs import Run

__all__ = ["check_same", "differences", "known_episodes", "with_earlier"]

_SAME = (
    "env",
    "mixture",
    "tools",
    "wrappers",
    "tool_use",
    "answer_instruction",
    "seed",
    "samples",
    "fork_groups",
)
"""Keys that must not change, as an episode depends on them."""
_SAME_UNTIL = ("until", "against", "measure", "difference", "confidence")
"""Keys that must not change in a run that stops when it is decided: that would be another test."""
_TRANSPORT = {
    "api_key",
    "api_key_env",
    "base_url",
    "max_attempts",
    "max_in_flight",
    "max_retry_seconds",
    "timeout",
}
"""Parameters of agents that may change, as they only say how to reach a model."""


def check_same(run: Run, config: Mapping[str, Any]) -> None:
    """Refuse to continue a run whose episodes were played with another configuration.

    More episodes, environments and agents are allowed, and so are other limits.

    Raises:
        ConfigError: The configurations differ; the message names each key that does.
    """
    old = run.info().get("config")
    if not isinstance(old, Mapping):
        raise ConfigError(f"{run.path} has no configuration in run.json: choose another out.")
    if "k" in old:
        old = {**old, "samples": old["k"]}  # as version 0.1 called it
    old, new = redact(with_hidden(old, config)), redact(config)
    keys = (*_SAME, *(_SAME_UNTIL if old.get("until") or new.get("until") else ()))
    lines = [line for key in keys for line in differences(key, old.get(key), new.get(key))]
    before, now = (_named(one.get("envs")) for one in (old, new))
    for name in sorted(set(before) & set(now)):
        lines += differences(f"envs.{name}", before[name], now[name])
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
                    f"{run.path} was made with another configuration (before -> now):",
                    *lines,
                    "Choose another out.",
                ]
            )
        )


def _named(envs: Any) -> dict[str, Any]:
    """Return environments with names of their own; empty if they are named by their ids."""
    return dict(envs) if isinstance(envs, Mapping) and "id" not in envs else {}


def with_earlier(config: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration with the agents and environments that the run had before, as well."""
    agents = {**(before.get("agent") or {}), **config["agent"]}
    envs, earlier = config.get("envs"), before.get("envs")
    if _named(envs) and _named(earlier):
        envs = {**_named(earlier), **_named(envs)}
    elif isinstance(envs, list) and isinstance(earlier, list):
        envs = [*earlier, *(one for one in envs if one not in earlier)]
    return {**config, "agent": agents, "envs": envs}


def differences(place: str, old: Any, new: Any) -> list[str]:
    """Return a line for each value that differs below a key of two configurations."""
    if isinstance(old or {}, Mapping) and isinstance(new or {}, Mapping) and not _is_part(old, new):
        old, new = old or {}, new or {}
        return [
            line
            for key in sorted({*old, *new})
            for line in differences(f"{place}.{key}", old.get(key), new.get(key))
        ]
    return [] if (old or None) == (new or None) else [f"{place}: {_shown(old)} -> {_shown(new)}"]


def _is_part(old: Any, new: Any) -> bool:
    """Return whether one of them is a part with an id, and the other is absent."""
    return any(
        not one and isinstance(other, Mapping) and "id" in other
        for one, other in ((old, new), (new, old))
    )


def _shown(value: Any) -> str:
    return repr(value.get("id", value) if isinstance(value, Mapping) else value)


def known_episodes(run: Run, *, seed: int, leave_out_errors: bool) -> list[EpisodeRecord]:
    """Return the episodes of a run.

    Args:
        run: The run.
        seed: The seed that its episodes must have been made with.
        leave_out_errors: Whether to leave out the episodes that ended with an error.

    Raises:
        ConfigError: The file's episodes were made with another seed.
    """
    TrajectoryFile(run.trajectories_path).close()  # drops an incomplete last line
    episodes = []
    for trajectory in run.trajectories():
        if leave_out_errors and trajectory.error is not None:
            continue
        if trajectory.seed != child_seed(seed, trajectory.group):
            raise ConfigError(f"{run.path} was made with another seed than {seed}.")
        episodes.append(EpisodeRecord.of(trajectory))
    return episodes

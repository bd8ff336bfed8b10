"""The facts beside the configuration that decide a run's episodes, for ``run.json``.

===============  ======================================================================
``python``       version of Python
``platform``     operating system, architecture and C library
``versions``     versions of gem-core and of the distributions of the run's parts, and
                 of what those declare as dependencies: ``versions_of``
``git``          ``commit`` and ``dirty`` of the working directory, if it is in a
                 repository; untracked files do not count
``sources``      file and SHA-256 of environments that no distribution registers
``data``         ``name`` and ``version`` of the data of each environment that has some
``models``       the names by which the models of each agent answered
===============  ======================================================================

``data`` and ``models`` are only known from the episodes: see ``Observed``.
"""

import contextlib
import functools
import os
import platform
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from gem_core.errors import GemError
from gem_core.modules import source_of
from gem_core.plugins import default_registry
from gem_core.specs import ENVS
from gem_rollout.records.trajectory import Trajectory

if TYPE_CHECKING:
    from gem_rollout.records.runs import Run

__all__ = ["Observed", "facts", "other_facts", "sources", "versions_of"]

_SECONDS = 2.0
"""Time that git may take."""
_MOST_NAMES = 20
"""Names of models that are kept for an agent."""
_DIGITS = re.compile(r"([0-9a-f]{12})[0-9a-f]{20,}")
"""A hash, of which lines show the first digits."""


def facts(config: Any, envs: Iterable[str]) -> dict[str, Any]:
    """Return the facts that are known before the first episode.

    Args:
        config: The configuration, whose mappings with an ``id`` are the parts.
        envs: Ids of the environments.
    """
    parts = {*envs, *_ids(config)}
    distributions = {spec.source.partition(" ")[0] for one in parts for spec in _specs(one)}
    found = {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "versions": versions_of({"gem-rollout", *distributions} - {""}),
    }
    return found | ({"git": git} if (git := _git_state()) else {})


def _ids(config: Any) -> Iterator[str]:
    """Yield the ids of the parts of a configuration."""
    if isinstance(config, Mapping):
        if isinstance(config.get("id"), str):
            yield config["id"]
        config = config.values()
    elif not isinstance(config, list | tuple):
        return
    for one in config:
        yield from _ids(one)


def _specs(part_id: str) -> list[Any]:
    with contextlib.suppress(GemError):  # whoever makes the part reports it
        return default_registry().named(part_id)
    return []


def versions_of(distributions: Iterable[str]) -> dict[str, str]:
    """Return the versions of gem-core and of distributions, and of those that they declare.

    The dependencies that a plugin of gem-core declares are followed, also those of its extras
    except ``dev``; those of other distributions are not, and neither are those of gem-core, which
    decide about no task. What is not installed is left out.
    """
    found, waiting = dict[str, str](), ["gem-core", *distributions]
    while waiting:
        name = waiting.pop()
        if name not in found and (one := _distribution(name)) is not None:
            found[name] = one.version
            waiting += one.dependencies
    return {"gem-core": found.pop("gem-core"), **dict(sorted(found.items()))}


class _Distribution(NamedTuple):
    """A version, and the names of the dependencies that are followed."""

    version: str
    dependencies: tuple[str, ...]


@functools.cache
def _distribution(name: str) -> _Distribution | None:
    """Return a distribution, with its dependencies if it is a plugin; None if it is missing."""
    # Only runs pay for these imports.
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415

    from packaging.requirements import Requirement  # noqa: PLC0415
    from packaging.utils import canonicalize_name  # noqa: PLC0415

    try:
        found = distribution(name)
    except PackageNotFoundError:
        return None
    metadata = found.metadata
    if not found.entry_points.select(group="gem"):
        return _Distribution(metadata["Version"], ())
    extras = {"", *metadata.get_all("Provides-Extra", ())} - {"dev"}
    declared = map(Requirement, metadata.get_all("Requires-Dist", ()))
    names = [
        canonicalize_name(one.name)
        for one in declared
        if one.marker is None or any(one.marker.evaluate({"extra": name}) for name in extras)
    ]
    return _Distribution(metadata["Version"], tuple(names))


def _git_state() -> dict[str, Any]:
    """Return the commit of the working directory, and whether tracked files were changed."""
    commit = _git("rev-parse", "HEAD")
    if commit is None:
        return {}
    changes = _git("status", "--porcelain", "--untracked-files=no")
    return {"commit": commit} | ({} if changes is None else {"dirty": bool(changes)})


def _git(*words: str) -> str | None:
    """Return the output of git; None if it fails or takes too long."""
    try:
        done = subprocess.run(  # noqa: S603 - no word is a user's
            ["git", *words],  # noqa: S607 - the one that the user has
            capture_output=True,
            check=True,
            timeout=_SECONDS,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode(errors="replace").strip()


def sources(envs: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return file and hash of the environments that no distribution registers, by id."""
    found = {}
    for env_id in envs:
        with contextlib.suppress(GemError):  # such as a mixture, which has no spec
            spec = default_registry().find(ENVS, env_id)
            if not spec.source and isinstance(spec.entry_point, str):
                found[env_id] = source_of(spec.entry_point)
    return {env_id: source for env_id, source in found.items() if source}


class Observed:
    """Adds to ``run.json`` what only the episodes of a run tell: ``data`` and ``models``.

    Args:
        run: The run.
        before: ``Run.info`` of the run that it repeats, if it does.
        name: What messages call that run.
    """

    def __init__(self, run: "Run", before: Mapping[str, Any] | None = None, name: str = "") -> None:
        info = run.info()
        self._run, self._before, self._name = run, before or {}, name
        self._data: dict[str, dict[str, str]] = dict(info.get("data", {}))
        self._models: dict[str, list[str]] = dict(info.get("models", {}))
        self._changed: set[str] = set()

    def differences(self) -> list[str]:
        """Return a line for each fact that was known before the episodes, and is not as it was."""
        return [*self._told(other_facts(self._before, self._run.info(), every=True))]

    def add(self, trajectory: Trajectory) -> list[str]:
        """Note the facts of an episode; return a line for each that is not as it was before.

        Data that has another version than in earlier episodes of the run is not noted.
        """
        return [*self._add_data(trajectory), *self._told(self._add_models(trajectory))]

    def _told(self, lines: Iterable[str], where: str = "") -> Iterator[str]:
        return (f"Not as in {where or self._name}: {line}" for line in lines)

    def _add_data(self, trajectory: Trajectory) -> Iterator[str]:
        info = trajectory.reset_info
        data = {"name": info.get("data"), "version": info.get("data_version")}
        found = {key: value for key, value in data.items() if isinstance(value, str)}
        name = str(info.get("component", trajectory.env_name))
        if not found:
            return
        known, new = self._data.get(name), {"data": {name: found}}
        if known is None:
            self._data[name] = found
            self._run.note(data=self._data)
            yield from self._told(other_facts(self._before, new))
        elif known != found and name not in self._changed:
            self._changed.add(name)
            lines = other_facts({"data": {name: known}}, new)
            yield from self._told(lines, "the earlier episodes")

    def _add_models(self, trajectory: Trajectory) -> Iterator[str]:
        for turn in trajectory.turns:
            if turn.generation is None or not turn.generation.model:
                continue
            mark = turn.generation.system_fingerprint
            name = turn.generation.model + (f" ({mark})" if mark else "")
            known = self._models.setdefault(trajectory.agent, [])
            if name in known or len(known) >= _MOST_NAMES:
                continue
            known.append(name)
            self._run.note(models=self._models)
            before = self._before.get("models", {}).get(trajectory.agent)
            if before and name not in before:
                yield f"model of {trajectory.agent}: {', '.join(before)} -> {name}"


def other_facts(
    old: Mapping[str, Any], new: Mapping[str, Any], *, every: bool = False
) -> Iterator[str]:
    """Yield a line for each fact that differs between two runs, if both have it.

    Args:
        old: ``Run.info`` of the first.
        new: ``Run.info`` of the second.
        every: Also the platform, and the commit of the working directory.
    """
    before, now = _by_name(old, every=every), _by_name(new, every=every)
    for name in [one for one in before if one in now]:
        (ours, label), (theirs, other) = before[name], now[name]
        if ours != theirs:
            yield f"{name}: {label} -> {other}{', changed' * (label == other)}"


def _by_name(info: Mapping[str, Any], *, every: bool) -> dict[str, tuple[Any, str]]:
    """Return the facts that decide: the value and how a line shows it, by the name there."""
    plain = {"Python": info.get("python"), **info.get("versions", {})}
    plain |= {f"data of {name}": one.get("version") for name, one in info.get("data", {}).items()}
    if every:
        git = info.get("git", {})
        plain["platform"] = info.get("platform")
        plain["git commit"] = (
            git and f"{git.get('commit')}{' with changes' * bool(git.get('dirty'))}"
        )
    found = {name: (one, _DIGITS.sub(r"\1", str(one))) for name, one in plain.items() if one}
    files = info.get("sources", {}).items()
    return found | {name: (one.get("sha256"), str(one.get("file"))) for name, one in files}

"""A run's folder: a record of what was run, and the trajectories of its episodes.

======================  ==================================================================
``run.json``            what was run: see ``Run.info``
``trajectories.jsonl``  one episode a line (``TrajectoryFile``)
``metrics.json``        figures, if the command computes them
``tags.json``           tags that users gave the run, a list of texts
======================  ==================================================================
"""

import contextlib
import glob
import itertools
import json
import os
import re
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from gem_core.errors import ConfigError
from gem_core.records import json_value
from gem_rollout.records.provenance import facts, sources
from gem_rollout.records.redaction import redact, redact_words
from gem_rollout.records.store import TrajectoryFile, private, read_records, read_trajectories
from gem_rollout.records.trajectory import Trajectory

__all__ = ["INFO", "METRICS", "TAGS", "TRAJECTORIES", "Run", "write_json"]

T = TypeVar("T")

INFO, TRAJECTORIES, METRICS = "run.json", "trajectories.jsonl", "metrics.json"
TAGS = "tags.json"
_LONGEST_TAG = 40
_MOST_TAGS = 20


@dataclass(frozen=True)
class Run:
    """A run on disk.

    Args:
        path: The run's folder; or a file of trajectories, of which nothing else is known.
    """

    path: Path

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Return the run at a folder or a ``.jsonl`` file.

        Raises:
            ConfigError: There is no run at the path.
        """
        run = cls(Path(path))
        if not run.path.exists():
            raise ConfigError(f"There is no run at {path}: neither a folder nor a .jsonl file.")
        if not run.trajectories_path.is_file():
            raise ConfigError(f"{path} is not a run: it has no {TRAJECTORIES}.")
        return run

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        command: Iterable[str],
        config: Mapping[str, Any],
        envs: Iterable[str],
        agents: Iterable[str],
        parameters: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Self:
        """Make a run's folder and write ``run.json``, which only its owner can read.

        If the folder has episodes already, the run is continued: the time of its creation is kept,
        and so are the environments and agents that are not among the new ones.

        Args:
            path: The folder.
            command: The command and its arguments, word by word.
            config: The composed configuration, as plain data. ``gem_rollout.records.redaction``
                leaves out its secrets, and those of the command.
            envs: Ids of the environments.
            agents: Names of the agents.
            parameters: Parameters of the environments by name, as ``env_parameters`` returns them.
            more: Further keys of ``info``.
        """
        run = cls(Path(path))
        run.path.mkdir(parents=True, exist_ok=True)
        old: dict[str, Any] = run.info() if run.has_episodes else {}
        ids = list(dict.fromkeys([*old.get("envs", []), *envs]))
        info: dict[str, Any] = {
            **{key: old[key] for key in ("data", "models") if key in old},
            **facts(config, ids),
            "command": shlex.join(redact_words(command, config)),
            "config": redact(config),
            "created": old.get("created", time.time()),
            "envs": ids,
            "agents": list(dict.fromkeys([*old.get("agents", []), *agents])),
            **more,
        }
        if named := old.get("parameters", {}) | (parameters or {}):
            info["parameters"] = named
        if files := old.get("sources", {}) | sources(ids):
            info["sources"] = files
        write_json(run.path / INFO, info)
        run.trajectories_path.touch(mode=0o600)
        return run

    @property
    def trajectories_path(self) -> Path:
        """The file of the trajectories."""
        return self.path if self.path.is_file() else self.path / TRAJECTORIES

    @property
    def metrics_path(self) -> Path:
        """The file of the figures, which need not exist."""
        return self.path / METRICS

    @property
    def has_episodes(self) -> bool:
        """Whether episodes were written already."""
        return self.trajectories_path.is_file() and self.trajectories_path.stat().st_size > 0

    @property
    def name(self) -> str:
        """A short name: the last part of the path, with the date before a time of the day."""
        path = self.path.resolve()
        parts = (path if path.is_dir() else path.with_suffix("")).parts
        is_dated = len(parts) > 1 and re.fullmatch(r"\d{4}-\d\d-\d\d", parts[-2])
        return "/".join(parts[-2:]) if is_dated else parts[-1]

    @property
    def shown_path(self) -> str:
        """The path as messages show it: relative if it is below the working directory."""
        return _shown(self.path)

    @property
    def shown_trajectories(self) -> str:
        """The path of the file of the trajectories, as messages show it."""
        return _shown(self.trajectories_path)

    def check_can_write(self, *, resume: bool, envs: Iterable[str] = ()) -> None:
        """Refuse to add to the episodes of another run.

        Args:
            resume: Whether the user asked to continue the run that is there.
            envs: Ids of the environments to be played.

        Raises:
            ConfigError: The run has episodes, and is not to be continued; or the file of an
                environment is not what it was.
        """
        if self.has_episodes and not resume:
            raise ConfigError(
                f"{self.path} holds a run: add resume=true to continue it, or choose another out."
            )
        known = self.info().get("sources", {}) if self.has_episodes else {}
        for env_id, source in sources(envs).items():
            if known.get(env_id, source) != source:
                raise ConfigError(
                    f"{env_id} is not what the episodes of {self.path} were played with: "
                    f"{known[env_id].get('file')} was changed, or is now {source['file']}. "
                    f"Choose another out."
                )

    def info(self) -> dict[str, Any]:
        """Return the content of ``run.json``; empty for a file of trajectories.

        It has ``command``, ``config``, ``created`` (unix time), ``envs`` (ids), ``agents`` (names)
        and the facts of ``gem_rollout.records.provenance``. ``run`` and ``eval`` add
        ``parameters``, all those of each environment by its name.

        Raises:
            ConfigError: ``run.json`` is not a JSON object.
        """
        return _read_object(self.path / INFO)

    def metrics(self) -> dict[str, Any]:
        """Return the content of ``metrics.json``; empty if there is none.

        Raises:
            ConfigError: ``metrics.json`` is not a JSON object.
        """
        return _read_object(self.metrics_path)

    def note(self, **more: Any) -> None:
        """Add keys to ``info``, or replace them."""
        write_json(self.path / INFO, self.info() | more)

    def typed(self) -> tuple[str, list[str]]:
        """Return the command of ``info``, such as ``gem-core eval``, and its overrides."""
        words = shlex.split(self.info().get("command", ""))
        name = [
            *itertools.takewhile(lambda one: one[:1] not in ("-", "~") and "=" not in one, words)
        ]
        return " ".join(name), words[len(name) :]

    def tags(self) -> list[str]:
        """Return the tags that users gave the run, in the order in which they were added.

        Raises:
            ConfigError: ``tags.json`` is not a list of texts.
        """
        path = self.path / TAGS
        if not path.is_file():
            return []
        tags = _read_json(path)
        if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
            raise ConfigError(f"{path} must hold a JSON list of texts.")
        return tags

    def change_tags(self, *, add: Iterable[str] = (), remove: Iterable[str] = ()) -> list[str]:
        """Add tags to the run and remove others; return the new tags.

        Args:
            add: Tags of 1 to 40 printable characters; a run has at most 20 of them.
            remove: Tags; those that the run does not have are ignored.

        Raises:
            ConfigError: A tag cannot be used, the run has too many, or its folder cannot be
                written.
        """
        removed = set(remove)
        old = self.tags()
        kept = [tag for tag in old if tag not in removed]
        tags = list(dict.fromkeys([*kept, *(_checked_tag(tag) for tag in add)]))
        if len(tags) > max(_MOST_TAGS, len(old)):
            raise ConfigError(f"{self.shown_path} has {len(old)} tags; {_MOST_TAGS} are allowed.")
        if tags != old:
            try:
                write_json(self.path / TAGS, tags)
            except OSError as error:
                raise ConfigError(
                    f"The tags of {self.shown_path} cannot be written: {error.strerror}."
                ) from error
        return tags

    def trajectories(self) -> Iterator[Trajectory]:
        """Yield the trajectories one at a time, in the order in which they ended."""
        return read_trajectories(self.trajectories_path)

    def records(self, make: Callable[[Mapping[str, Any]], T]) -> Iterator[T]:
        """Yield what a function makes of the fields of each trajectory, as in ``read_records``."""
        return read_records(self.trajectories_path, make)

    def remove_errors(self) -> None:
        """Remove the episodes that ended with an error from the file, atomically."""
        path = self.trajectories_path
        with TrajectoryFile(path):  # locked, so that no other process writes a part
            _remove_parts(path)
            with _replacing(path) as fresh, TrajectoryFile(fresh) as file:
                for trajectory in self.trajectories():
                    if trajectory.error is None:
                        file.append(trajectory)


def _read_json(path: Path) -> Any:
    try:
        return json_value(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ConfigError(f"{path} is not JSON: {error}") from error


def _read_object(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file; empty if there is no file."""
    if not path.is_file():
        return {}
    found = _read_json(path)
    if not isinstance(found, dict):
        raise ConfigError(f"{path} must hold a JSON object; found {type(found).__name__}.")
    return found


def _checked_tag(tag: str) -> str:
    text = tag.strip()
    if not 0 < len(text) <= _LONGEST_TAG or not text.isprintable():
        raise ConfigError(f"A tag has 1 to {_LONGEST_TAG} printable characters; got {tag[:80]!r}.")
    return text


def _shown(path: Path) -> str:
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file that only its owner can read.

    A reader finds the old file or the new one, never a part.
    """
    with (
        _replacing(path) as fresh,
        open(fresh, "w", encoding="utf-8", opener=private) as file,
    ):
        file.write(json.dumps(value, indent=2, default=repr) + "\n")


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """Yield the path of a file that replaces another if the block ends without an error."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield fresh
        fresh.replace(path)
    except BaseException:  # also Ctrl-C
        fresh.unlink(missing_ok=True)
        raise


def _remove_parts(path: Path) -> None:
    """Remove the incomplete replacements of a file that killed processes have left."""
    for part in path.parent.glob(f".{glob.escape(path.name)}.[0-9]*"):
        part.unlink(missing_ok=True)

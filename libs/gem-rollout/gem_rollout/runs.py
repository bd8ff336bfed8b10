"""A run's folder: a record of what was run, and the trajectories of its episodes.

======================  ==================================================================
``run.json``            what was run: see ``Run.info``
``trajectories.jsonl``  one episode a line (``TrajectoryFile``)
``metrics.json``        figures, if the command computes them
======================  ==================================================================
"""

import json
import os
import re
import shlex
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from gem_core.errors import ConfigError
from gem_rollout.store import read_trajectories
from gem_rollout.trajectory import Trajectory

__all__ = ["Run", "without_secrets", "write_json"]

INFO, TRAJECTORIES, METRICS = "run.json", "trajectories.jsonl", "metrics.json"
HIDDEN = "(hidden)"
_SECRET = re.compile(
    r"((^|_)(secret|password|authorization|auth|headers|credentials)"
    r"|(^|api_|access_|secret_|auth_|hf_)(token|key))$",
    re.IGNORECASE,
)


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
        **more: Any,
    ) -> Self:
        """Make a run's folder and write ``run.json``.

        If the folder has episodes already, the run is continued: the time of its creation is kept,
        and so are the environments and agents that are not among the new ones.

        Args:
            path: The folder.
            command: The command and its arguments, word by word.
            config: The composed configuration, as plain data. Values of keys that sound secret
                (``api_key``, ``headers``, ...) are written neither here nor in the command.
            envs: Ids of the environments.
            agents: Names of the agents.
            more: Further keys of ``info``.
        """
        run = cls(Path(path))
        run.path.mkdir(parents=True, exist_ok=True)
        old = run.info() if run.has_episodes else {}
        info = {
            "versions": _versions(),
            "command": shlex.join(map(_word_without_secret, command)),
            "config": without_secrets(config),
            "created": old.get("created", time.time()),
            "envs": list(dict.fromkeys([*old.get("envs", []), *envs])),
            "agents": list(dict.fromkeys([*old.get("agents", []), *agents])),
            **more,
        }
        write_json(run.path / INFO, info)
        run.trajectories_path.touch()
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
        relative = os.path.relpath(self.path)
        return str(self.path) if relative.startswith("..") else relative

    def check_can_write(self, *, resume: bool) -> None:
        """Refuse to add to the episodes of another run.

        Args:
            resume: Whether the user asked to continue the run that is there.

        Raises:
            ConfigError: The run has episodes, and is not to be continued.
        """
        if self.has_episodes and not resume:
            raise ConfigError(
                f"{self.path} holds a run: add resume=true to continue it, or choose another out."
            )

    def info(self) -> dict[str, Any]:
        """Return the content of ``run.json``; empty for a file of trajectories.

        It has ``versions`` (of gem-core and the plugins), ``command``, ``config``, ``created``
        (unix time), ``envs`` (ids) and ``agents`` (names).

        Raises:
            ConfigError: ``run.json`` is not a JSON object.
        """
        path = self.path / INFO
        if not path.is_file():
            return {}
        try:
            info = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ConfigError(f"{path} is not JSON: {error}") from error
        if not isinstance(info, dict):
            raise ConfigError(f"{path} must hold a JSON object; found {type(info).__name__}.")
        return info

    def trajectories(self) -> Iterator[Trajectory]:
        """Yield the trajectories one at a time, in the order in which they ended."""
        return read_trajectories(self.trajectories_path)


def _versions() -> dict[str, str]:
    from importlib.metadata import entry_points, version  # noqa: PLC0415 - only runs pay for it

    sources = {point.dist for point in entry_points(group="gem") if point.dist}
    plugins = {source.name: source.version for source in sources}
    return {"gem-core": version("gem-core"), **dict(sorted(plugins.items()))}


def without_secrets(value: Any, key: str = "") -> Any:
    """Return plain data with the values of keys that sound secret replaced."""
    if _SECRET.search(key) and value:
        return HIDDEN
    if isinstance(value, Mapping):
        return {str(name): without_secrets(item, str(name)) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_secrets(item) for item in value]
    return value


def _word_without_secret(word: str) -> str:
    key, equals, value = word.partition("=")
    hidden = without_secrets(value, key.rpartition(".")[2])
    return f"{key}={hidden}" if equals else word


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file atomically: a reader finds the old file or the new one, never a part."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_text(json.dumps(value, indent=2, default=repr) + "\n", encoding="utf-8")
    fresh.replace(path)

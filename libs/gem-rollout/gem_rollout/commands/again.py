"""Repeats a run: ``gem-core eval --again RUN`` composes the configuration of its ``run.json``.

Nothing of it comes from today's defaults: a recorded configuration has the parameters of every part
with their values, and ``parameters`` of ``run.json`` those of the environments that it only lists.
Words after ``--again`` win. A word that chooses, such as ``agent=ID`` or ``env=ID``, replaces the
part that is recorded.
"""

import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gem_core.errors import ConfigError
from gem_rollout.records.redaction import HIDDEN
from gem_rollout.records.runs import Run

__all__ = ["Again", "repeating"]

_OF_FOLDER = ("out", "resume", "repeat_errors")
"""Keys of a run's folder, which another run does not have in common."""
_NESTED = ("data", "parameters", "sources")
_FACTS = ("versions", *_NESTED)
"""Keys of ``run.json`` whose values are objects, and those whose values have objects."""
_INTERPOLATION = re.compile(r"(\\*)\$\{")


@dataclass(frozen=True)
class Again:
    """A run that a command repeats.

    Args:
        path: The run's folder, as it was typed.
        info: Its ``Run.info``.
    """

    path: str
    info: Mapping[str, Any]

    @classmethod
    def of(cls, path: str, program: str) -> "Again":
        """Return a run to be repeated.

        Args:
            path: The run's folder.
            program: The command that repeats it, such as ``gem-core eval``.

        Raises:
            ConfigError: There is no run, it has no configuration, or another command made it.
        """
        run = Run.open(path)
        info = run.info()
        if not isinstance(info.get("config"), Mapping):
            raise ConfigError(f"{path} cannot be repeated: it has no configuration in run.json.")
        for key in _FACTS:
            known = info.get(key) or {}
            inner = known.values() if isinstance(known, Mapping) and key in _NESTED else ()
            if not all(isinstance(one, Mapping) for one in (known, *inner)):
                raise ConfigError(f"{path} cannot be repeated: {key} of run.json is damaged.")
        if not isinstance(info.get("command", ""), str):
            raise ConfigError(f"{path} cannot be repeated: command of run.json is damaged.")
        name, _ = run.typed()
        if name != program:
            raise ConfigError(f"{program} cannot repeat {path}, which {name!r} made.")
        return cls(path, info)

    def config(self, keys: Collection[str]) -> dict[str, Any]:
        """Return the recorded configuration as a node for Hydra.

        Args:
            keys: The top-level keys of the command; others are left out.
        """
        config = {
            key: value
            for key, value in self.info["config"].items()
            if key in keys and key not in _OF_FOLDER
        }
        parameters = self.info.get("parameters", {})
        envs = config.get("envs")
        are_listed = bool(envs) and not (isinstance(envs, Mapping) and "id" not in envs)
        if are_listed and parameters:
            config["envs"] = parameters
        if isinstance(mixture := config.get("mixture"), Mapping):
            config["mixture"] = {
                name: {
                    **parameters.get(name, {}),
                    **(part if isinstance(part, Mapping) else {"id": part}),
                }
                for name, part in mixture.items()
            }
        found: dict[str, Any] = _as_node(config)
        return found

    def unknown(self, keys: Collection[str]) -> list[str]:
        """Return a line for each recorded key that the command does not have any more."""
        recorded = self.info["config"]
        return [
            f"Not as in {self.path}: there is no key {one!r}."
            for one in recorded
            if one not in keys
        ]

    def check(self, config: Mapping[str, Any]) -> None:
        """Check that a composed configuration has all values that ``run.json`` does not.

        Raises:
            ConfigError: A secret is missing; the message names its key.
        """
        for key, variable in _hidden(config):
            other = f", or set {variable}" if variable else ""
            raise ConfigError(
                f"{self.path} does not tell {key}, as it is secret: give {key}=VALUE{other}."
            )


def _as_node(value: Any, name: str = "", beside: Mapping[str, Any] | None = None) -> Any:
    """Return a value in which texts are no interpolations, and secrets are left to the environment.

    A parameter ``api_key`` that was not recorded becomes None if the variable that ``api_key_env``
    names is set.
    """
    if isinstance(value, Mapping):
        return {key: _as_node(one, str(key), value) for key, one in value.items()}
    if isinstance(value, list):
        return [_as_node(one) for one in value]
    if value == HIDDEN and os.environ.get(_variable(name, beside)):
        return None
    return (
        _INTERPOLATION.sub(lambda f: f[1] * 2 + "\\${", value) if isinstance(value, str) else value
    )


def _variable(name: str, beside: Mapping[str, Any] | None) -> str:
    """Return the environment variable that a part takes a parameter from, empty without one."""
    return str((beside or {}).get(f"{name}_env") or "")


def _hidden(
    value: Any, name: str = "", beside: Mapping[str, Any] | None = None
) -> Iterator[tuple[str, str]]:
    """Yield the key of each value that was not recorded, and the variable that may have it."""
    if isinstance(value, Mapping):
        for key, one in value.items():
            for inner, variable in _hidden(one, str(key), value):
                yield f"{name}.{inner}".lstrip("."), variable
    elif isinstance(value, list):
        if any(True for one in value for _ in _hidden(one)):
            yield name, ""
    elif isinstance(value, str) and HIDDEN in value:
        yield name, _variable(name, beside)


def repeating(node: dict[str, Any], recorded: Mapping[str, Any]) -> dict[str, Any]:
    """Return a command's configuration with recorded values, and nothing chosen by default."""
    defaults: list[Any] = ["_self_"]
    for one in node["defaults"][1:]:
        ((group, option),) = one.items()
        is_setting = group.startswith("override ")
        nothing: list[str] | None = [] if isinstance(option, list) else None
        defaults.append({group: option if is_setting else nothing})
    return {**node, **recorded, "defaults": defaults}

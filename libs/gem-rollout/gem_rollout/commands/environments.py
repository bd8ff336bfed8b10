"""The environments that a command's configuration describes, each with a name.

=====================================  ============================================================
configuration                          names
=====================================  ============================================================
``env: {id: ..., parameters}``         the id
``mixture: {NAME: {id: ...}, ...}``    one environment: ``mixture:`` and the names of its parts
``envs: [ID or PATTERN, ...]``         each id
``envs: [{id: ..., parameters}, ...]`` the id with the parameters: ``math:Sample(shuffle=false)``
``envs: {NAME: {id: ..., ...}, ...}``  NAME
=====================================  ============================================================

The names are those of tables, of ``Trajectory.component`` and of the sources of a training run. So
an environment may be there several times, with different parameters.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pydantic

from gem_core.config import describe_validation_error, factory_from_config, part_kwargs
from gem_core.errors import ConfigError, NotInstalledError
from gem_core.factory import EnvFactory
from gem_core.hydra_source import plain_parameters
from gem_core.known import install_hint
from gem_core.mixture import Component, MixtureEnv
from gem_core.plugins import default_registry
from gem_core.specs import ENVS, EnvSpec, check_kwargs
from gem_rollout.answer_instruction import instructed
from gem_rollout.records.redaction import redact

__all__ = ["env_factories", "env_parameters", "env_sources", "envs_by_name", "named_specs"]


def envs_by_name(
    config: Mapping[str, Any], *, left_out: dict[str, str] | None = None
) -> dict[str, EnvFactory]:
    """Return a factory for each environment of a configuration, sorted by name.

    Args:
        config: The configuration.
        left_out: Gets the environments of ``envs`` that are not installed, each with what to
            install. Without it, they are errors.

    Raises:
        GemError: A part does not exist or refuses its parameters; the message names it.
        NotInstalledError: No environment is installed.
    """
    if not config.get("envs"):
        factory = instructed(factory_from_config(config), config)
        return {factory.spec.id: factory}
    if config.get("env") or config.get("mixture"):
        raise ConfigError("envs: give only one of envs, env and mixture.")
    specs = named_specs(config["envs"], left_out=left_out)
    if not specs and left_out:
        lines = "\n  ".join(left_out.values())
        raise NotInstalledError(f"None of the environments is installed.\n  {lines}")
    return {
        name: instructed(factory_from_config({**config, "env": specs[name]}), config)
        for name in sorted(specs)
    }


def named_specs(envs: Any, *, left_out: dict[str, str] | None = None) -> dict[str, EnvSpec]:
    """Return the specs of the value of ``envs``, with their parameters, by name.

    Args:
        envs: The value.
        left_out: As in ``envs_by_name``.

    Raises:
        GemError: An environment does not exist or refuses its parameters; the message names it.
    """
    are_named = isinstance(envs, Mapping) and "id" not in envs
    return dict(_named(envs, left_out) if are_named else _listed(envs, left_out))


def env_factories(config: Mapping[str, Any]) -> list[EnvFactory]:
    """Return a factory for each environment of a configuration, in the order of ``envs_by_name``.

    Raises:
        GemError: A part does not exist or refuses its parameters.
    """
    return list(envs_by_name(config).values())


def env_parameters(factories: Mapping[str, EnvFactory]) -> dict[str, Any]:
    """Return the id and the parameters of each environment, defaults included, without secrets.

    Parameters that JSON cannot express are left out. Of a mixture, its parts are returned, by their
    names.

    Args:
        factories: The result of ``envs_by_name``.
    """
    found: dict[str, Any] = {}
    for name, factory in factories.items():
        if factory.spec.entry_point is MixtureEnv:
            parts = factory.spec.kwargs["components"]
            found |= env_parameters({key: part.make_env for key, part in parts.items()})
        else:
            found[name] = redact({"id": factory.spec.id, **plain_parameters(factory.spec)})
    return found


def env_sources(config: Mapping[str, Any]) -> dict[str, Component]:
    """Return the environments of a configuration by name; those of a mixture are its parts.

    ``envs_by_name`` makes one environment of a mixture. Here its parts stay separate, so that their
    weights can change.

    Raises:
        GemError: A part does not exist or refuses its parameters.
    """
    mixture = config.get("mixture") or {}
    factories = envs_by_name(config)  # reports all problems of a mixture together
    if not mixture or config.get("env") or config.get("envs"):
        return {name: Component(factory) for name, factory in factories.items()}
    sources = {}
    for name, part in mixture.items():
        env: dict[str, Any] = {"id": part} if isinstance(part, str) else dict(part)
        weight = env.pop("weight", 1.0)
        factory = factory_from_config({**config, "env": env, "mixture": None})
        sources[name] = Component(instructed(factory, config), weight)
    return sources


def _named(
    envs: Mapping[str, Any], left_out: dict[str, str] | None
) -> Iterator[tuple[str, EnvSpec]]:
    """Yield the environments of a mapping from names to ids, or to mappings with an id."""
    for name, entry in envs.items():
        specs = list(_specs(f"envs.{name}", entry, left_out))
        if len(specs) > 1:
            raise ConfigError(
                f"envs.{name}: a name is that of one environment, and {_parts(entry)[0]!r} matches "
                f"{len(specs)}. Give the pattern without a name: envs=[...]."
            )
        yield from ((str(name), spec) for spec, _ in specs)


def _listed(envs: Any, left_out: dict[str, str] | None) -> Iterator[tuple[str, EnvSpec]]:
    """Yield the environments of one or several ids, patterns, or mappings with an id."""
    for number, entry in enumerate([envs] if isinstance(envs, str | Mapping) else envs):
        for spec, parameters in _specs(f"envs.{number}", entry, left_out):
            told = redact({"id": spec.id, **parameters})
            shown = ", ".join(f"{name}={_shown(told[name])}" for name in parameters)
            yield f"{spec.id}({shown})" if shown else spec.id, spec


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _specs(
    where: str, entry: Any, left_out: dict[str, str] | None
) -> Iterator[tuple[EnvSpec, dict[str, Any]]]:
    """Yield the specs that an entry chooses, with its parameters, and the parameters alone.

    Raises:
        ConfigError: The entry is not an id or a mapping with one, or a value has the wrong type.
        UnknownIdError: There is no such environment.
        UnknownKwargError: The environment does not take a parameter.
    """
    pattern, parameters = _parts(entry)
    if not isinstance(pattern, str) or not pattern:
        raise ConfigError(
            f"{where} needs the id of an environment, such as envs=[math:Sample] or "
            f"'envs=[{{id: math:Sample, shuffle: false}}]'; got {entry!r}."
        )
    for spec, target in _installed(pattern, left_out):
        check_kwargs(target, parameters, f"environment {spec.id!r} ({where})")
        try:
            kwargs = part_kwargs(target, parameters)
        except pydantic.ValidationError as error:
            problems = describe_validation_error(error, f"{where} ({spec.id})")
            lines = "\n  ".join(["The configuration cannot be used:", *problems])
            raise ConfigError(lines) from error
        yield spec.with_kwargs(**kwargs), parameters


def _installed(
    pattern: str, left_out: dict[str, str] | None
) -> Iterator[tuple[EnvSpec, Callable[..., Any]]]:
    """Yield the specs of an id or pattern with what they make."""
    registry = default_registry()
    found = registry.list(ENVS, pattern)
    if not found and left_out is not None and (hint := install_hint(ENVS.name, pattern)):
        left_out[pattern] = f"environment {pattern!r}. {hint}"
        return
    for spec in found or [registry.find(ENVS, pattern)]:
        try:
            target = spec.load()
        except NotInstalledError as error:
            if left_out is None:
                raise
            left_out[spec.id] = str(error)
        else:
            yield spec, target


def _parts(entry: Any) -> tuple[Any, dict[str, Any]]:
    """Return the id or pattern of an entry, and its parameters."""
    if not isinstance(entry, Mapping):
        return entry, {}
    return entry.get("id"), {key: value for key, value in entry.items() if key != "id"}

"""From a configuration to an environment: ``build(cfg)``.

The configuration comes from Hydra, a YAML file or a dict. What it says is checked here, once, and
every problem is told in a line of its own. Keys that are not ours are left alone, so that a
trainer's configuration can hold an environment's.

=============  =====================================================================
key            value
=============  =====================================================================
``env``        ``{id: ..., <parameters>}``, or an id
``mixture``    instead of ``env``: a mapping from a name to such a value with an
               optional ``weight``, or a list of them
``tools``      a mapping from a name to ``{id: ..., <parameters>}``, or a list of such
               values or ids
``wrappers``   likewise, the innermost first
``tool_use``   parameters of the wrapper that runs the tools
``vector``     ``{num_envs, executor, autoreset, on_error}``; without ``num_envs`` one
               environment is built
``seed``       seed of the environment's random stream
=============  =====================================================================
"""

import inspect
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pydantic

from gem_core.errors import ConfigError, GemError, UnknownKwargError
from gem_core.factory import EnvFactory, make_factory
from gem_core.mixture import Component, MixtureEnv
from gem_core.plugins import default_registry
from gem_core.seeding import child_seed
from gem_core.specs import EnvSpec, ExecutorSpec, Spec, ToolSpec, WrapperSpec, check_kwargs
from gem_core.vector import Autoreset, OnError, VectorEnv

__all__ = [
    "VectorConfig",
    "build",
    "describe_validation_error",
    "factory_from_config",
    "part_kwargs",
]

_KEYS = ("env", "mixture", "tools", "wrappers", "tool_use", "vector", "seed")
_HEADING = "The configuration cannot be used:\n  "


class VectorConfig(pydantic.BaseModel):
    """The ``vector`` part of a configuration."""

    model_config = pydantic.ConfigDict(extra="forbid")

    num_envs: int | None = pydantic.Field(default=None, ge=1)
    """How many environments; None for one that is no vector."""
    executor: str | dict[str, Any] = "serial"
    """Id of what runs them, or a mapping with an id and parameters."""
    autoreset: Autoreset = "same_step"
    """What follows the end of an episode."""
    on_error: OnError = "raise"
    """What follows an exception."""


def describe_validation_error(error: pydantic.ValidationError, where: str = "") -> list[str]:
    """Return a line for each problem: its path, what is wrong, and the value that was given.

    Args:
        error: The error.
        where: The path of the value that was validated, such as ``env``.
    """
    lines = []
    for problem in error.errors():
        path = ".".join(filter(None, [where, *map(str, problem["loc"])]))
        message = problem["msg"].removeprefix("Value error, ")
        if path:
            message = f"{path}: {message}; got {problem['input']!r}"
        lines.append(message)
    return lines


class _Problems:
    """Collects what is wrong with a configuration, a line each."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, where: str, error: Exception) -> None:
        if isinstance(error, pydantic.ValidationError):
            self.lines += describe_validation_error(error, where)
        else:
            self.lines.append(f"{where}: {error}")

    def raise_if_any(self) -> None:
        if self.lines:
            raise ConfigError(_HEADING + "\n  ".join(dict.fromkeys(self.lines)))


def build(config: Mapping[str, Any]) -> Any:
    """Build the environment, or the vector, that a configuration describes.

    Args:
        config: A mapping, such as Hydra's ``DictConfig``; see above for its keys.

    Returns:
        An ``Env``; with ``vector.num_envs`` a ``VectorEnv``.

    Raises:
        ConfigError: With one line for each problem.
        GemError: An environment refuses its parameters, or cannot be imported.
    """
    plain = _plain(config)
    problems = _Problems()
    vector = VectorConfig()
    try:
        vector = VectorConfig.model_validate(plain.get("vector") or {})
    except pydantic.ValidationError as error:
        problems.note("vector", error)
    factory = _factory(plain, problems)
    problems.raise_if_any()
    if vector.num_envs is None:
        return factory()
    executor: dict[str, Any] = (
        {"id": vector.executor} if isinstance(vector.executor, str) else dict(vector.executor)
    )
    return VectorEnv(
        _copies(factory, vector.num_envs),
        executor=default_registry().make(ExecutorSpec, executor.pop("id", "serial"), **executor),
        autoreset=vector.autoreset,
        on_error=vector.on_error,
    )


def factory_from_config(config: Mapping[str, Any]) -> EnvFactory:
    """Return what makes the environment of a configuration, for whoever makes many of them.

    Raises:
        ConfigError: With one line for each problem.
    """
    problems = _Problems()
    factory = _factory(_plain(config), problems)
    problems.raise_if_any()
    return factory


def _plain(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration as dicts and lists, interpolations resolved."""
    if isinstance(config, dict):
        return config
    from omegaconf import DictConfig, OmegaConf  # noqa: PLC0415 - a dict does without it
    from omegaconf.errors import OmegaConfBaseException  # noqa: PLC0415

    if not isinstance(config, DictConfig):
        return dict(config)
    try:
        values = {key: config[key] for key in _KEYS if key in config}
        return {
            key: OmegaConf.to_container(value, resolve=True, throw_on_missing=True)
            if OmegaConf.is_config(value)
            else value
            for key, value in values.items()
        }
    except OmegaConfBaseException as error:
        line = str(error).splitlines()[0]
        raise ConfigError(f"{_HEADING}{error.full_key}: {line}") from error


def _copies(factory: EnvFactory, count: int) -> list[EnvFactory]:
    if factory.seed is None:
        return [factory] * count
    return [replace(factory, seed=child_seed(factory.seed, index)) for index in range(count)]


def _factory(config: Mapping[str, Any], problems: _Problems) -> EnvFactory:
    spec = _env_spec(config, problems)
    parts = {
        "tools": [_part(ToolSpec, *named, problems) for named in _named(config, "tools")],
        "wrappers": [_part(WrapperSpec, *named, problems) for named in _named(config, "wrappers")],
    }
    tool_use = config.get("tool_use")
    if tool_use is not None:
        tool_wrapper = default_registry().find(WrapperSpec, "tools")
        tool_use = _checked(tool_wrapper, tool_use, "tool_use", problems)
    problems.raise_if_any()
    return make_factory(
        spec,
        tools=parts["tools"],
        wrappers=parts["wrappers"],
        tool_use=tool_use if parts["tools"] else None,
        seed=config.get("seed"),
    )


def _env_spec(config: Mapping[str, Any], problems: _Problems) -> Any:
    env, mixture = config.get("env"), config.get("mixture")
    if bool(env) == bool(mixture):
        problems.lines.append(
            "env: give either env or mixture, for example env=game/Sudoku-v0-easy"
        )
        return None
    if env:
        part = _part(EnvSpec, "env", env, problems)
        return part and _with_kwargs(part)
    components = {}
    for where, value in _named(config, "mixture"):
        entry = {"id": value} if isinstance(value, str) else dict(value)
        weight: Any = entry.pop("weight", 1.0)
        if not isinstance(weight, int | float):
            problems.lines.append(f"{where}.weight: must be a number; got {weight!r}")
            continue
        part = _part(EnvSpec, where, entry, problems)
        if part:
            name = where.partition(".")[2]
            components[name] = Component(make_factory(_with_kwargs(part)), weight)
    return EnvSpec(
        id="mixture:" + "_".join(components) if components else "mixture:empty",
        entry_point=MixtureEnv,
        kwargs={"components": components},
    )


def _with_kwargs(part: dict[str, Any]) -> EnvSpec:
    kwargs = dict(part)
    return default_registry().find(EnvSpec, kwargs.pop("id")).with_kwargs(**kwargs)


def _named(config: Mapping[str, Any], key: str) -> Iterator[tuple[str, Any]]:
    """Yield the entries of a mapping or list, each with the path that messages call it by."""
    entries = config.get(key) or {}
    if isinstance(entries, Mapping):
        for name, value in entries.items():
            yield f"{key}.{name}", value
    elif isinstance(entries, str):
        yield f"{key}.0", entries
    else:
        for index, value in enumerate(entries):
            yield f"{key}.{index}", value


def _part(kind: type[Spec], where: str, value: Any, problems: _Problems) -> Any:
    """Return ``{id, <checked parameters>}``, or None after noting what is wrong."""
    kwargs = {"id": value} if isinstance(value, str) else value
    if not isinstance(kwargs, Mapping) or "id" not in kwargs:
        problems.lines.append(f"{where}: needs an id or a mapping with one; got {value!r}")
        return None
    kwargs = dict(kwargs)
    try:
        spec = default_registry().find(kind, kwargs.pop("id"))
    except GemError as error:
        problems.note(where, error)
        return None
    checked = _checked(spec, kwargs, where, problems)
    return None if checked is None else {"id": spec.id, **checked}


def _checked(
    spec: Spec, kwargs: Mapping[str, Any], where: str, problems: _Problems
) -> dict[str, Any] | None:
    try:
        target = spec.load()
    except GemError as error:
        problems.note(where, error)
        return None
    known = dict(kwargs)
    for name in kwargs:
        try:
            check_kwargs(target, [name], f"{spec.kind} {spec.id!r}")
        except UnknownKwargError as error:
            problems.note(f"{where}.{name}", error)
            del known[name]
    try:
        return part_kwargs(target, known)
    except pydantic.ValidationError as error:
        problems.note(where, error)
        return None


def part_kwargs(target: Callable[..., Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return keyword arguments as the types that the target's annotations name.

    Raises:
        pydantic.ValidationError: A value is not of its parameter's type.
    """
    function = target.__init__ if inspect.isclass(target) else target
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except Exception:  # noqa: BLE001 - annotations may name what is not importable at run time
        hints = {}
    fields: dict[str, Any] = {name: (_checkable(hints.get(name, Any)), ...) for name in kwargs}
    model = pydantic.create_model(
        "Parameters", __config__=pydantic.ConfigDict(arbitrary_types_allowed=True), **fields
    )
    values = model.model_validate(dict(kwargs))
    return {name: getattr(values, name) for name in kwargs}


def _checkable(annotation: Any) -> Any:
    """Return the annotation, or Any where pydantic cannot check it."""
    try:
        pydantic.TypeAdapter(annotation, config=pydantic.ConfigDict(arbitrary_types_allowed=True))
    except pydantic.PydanticUserError:
        # BaseModels and the like carry a config of their own, which TypeAdapter refuses.
        return annotation
    except Exception:  # noqa: BLE001 - what pydantic cannot read it need not check
        return Any
    return annotation

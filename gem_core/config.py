"""From a configuration to an environment: ``build(cfg)``.

The configuration comes from Hydra, a YAML file or a dict. It is checked here, once, and the error
has one line for each problem. Other keys are ignored, so that a trainer's configuration can hold an
environment's; a key that is nearly one of these is a problem too.

=============  =====================================================================
key            value
=============  =====================================================================
``env``        ``{id: ..., <parameters>}``, or an id
``mixture``    instead of ``env``: a mapping from a name to such a value with an
               optional ``weight``, or a list of them
``tools``      a mapping from a name to ``{id: ..., <parameters>}``, or a list of such
               values or ids
``wrappers``   the same for wrappers, the innermost first
``tool_use``   parameters of the wrapper that runs the tools
``vector``     ``{num_envs, executor, autoreset, on_error}``; without ``num_envs`` a
               single environment is built
``seed``       seed of the environment's random stream
=============  =====================================================================
"""

import difflib
import inspect
import re
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import pydantic

from gem_core.errors import ConfigError, GemError, UnknownKwargError
from gem_core.factory import EnvFactory, make_factory
from gem_core.mixture import Component, MixtureEnv
from gem_core.resolve import resolve
from gem_core.seeding import child_seed
from gem_core.specs import (
    ENVS,
    EXECUTORS,
    TOOLS,
    WRAPPERS,
    EnvSpec,
    Kind,
    Spec,
    check_kwargs,
)
from gem_core.vector import Autoreset, OnError, VectorEnv

__all__ = [
    "VectorConfig",
    "build",
    "describe_validation_error",
    "factory_from_config",
    "parameter_types",
    "part_kwargs",
]

S = TypeVar("S", bound=Spec)

_KEYS = ("env", "mixture", "tools", "wrappers", "tool_use", "vector", "seed")
_SYNONYMS = {"environment": "env", "wrap": "wrappers", "vec": "vector", "mix": "mixture"}
_LONGEST_VALUE = 100
_HEADING = "The configuration cannot be used:\n  "


class VectorConfig(pydantic.BaseModel):
    """The ``vector`` part of a configuration."""

    model_config = pydantic.ConfigDict(extra="forbid")

    num_envs: int | None = pydantic.Field(default=None, ge=1)
    """Number of environments; None for a single one that is not a vector."""
    executor: str | dict[str, Any] = "serial"
    """Id of the executor that runs them, or a mapping with an id and parameters."""
    autoreset: Autoreset = "same_step"
    """What happens after the end of an episode."""
    on_error: OnError = "raise"
    """What happens after an exception."""


def describe_validation_error(error: pydantic.ValidationError, where: str = "") -> list[str]:
    """Return a line for each problem: its path, what is wrong, and the value that was given.

    The middle of a value that is longer than 100 characters is left out.

    Args:
        error: The error.
        where: The path of the value that was validated, such as ``env``.
    """
    lines = []
    for problem in error.errors():
        path = ".".join(filter(None, [where, *map(str, problem["loc"])]))
        message = problem["msg"].removeprefix("Value error, ")
        if path:
            message = f"{path}: {message}; got {_shown(problem['input'])}"
        lines.append(message)
    return lines


def _shown(value: object) -> str:
    """Return a value in one line of about 100 characters."""
    text = " ".join(repr(value).splitlines())
    return text if len(text) <= _LONGEST_VALUE else f"{text[:60]} ... {text[-35:]}"


class _Problems:
    """Collects the problems of a configuration, one line each."""

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
        GemError: An environment rejects its parameters, or cannot be imported.
    """
    plain = _plain(config)
    problems = _Problems()
    problems.lines += _typos(config)
    vector = VectorConfig()
    try:
        vector = VectorConfig.model_validate(plain.get("vector") or {})
    except pydantic.ValidationError as error:
        problems.note("vector", error)
    factory = _factory(plain, problems)
    problems.raise_if_any()
    if vector.num_envs is None:
        return factory()
    return VectorEnv(
        _copies(factory, vector.num_envs),
        executor=resolve(EXECUTORS, vector.executor).make(),
        autoreset=vector.autoreset,
        on_error=vector.on_error,
    )


def _typos(config: Mapping[str, Any]) -> Iterator[str]:
    names = {name.replace("_", ""): name for name in _KEYS} | _SYNONYMS
    for key in config:
        plain = re.sub(r"[^a-z]", "", str(key).lower())
        near = difflib.get_close_matches(plain, names, 1, 0.75)
        if key not in _KEYS and near:
            yield f"{key}: there is no such key. Did you mean {names[near[0]]!r}?"


def factory_from_config(config: Mapping[str, Any]) -> EnvFactory:
    """Return a factory of the environment that a configuration describes.

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
        if not isinstance(config, Mapping):
            raise ConfigError(f"A configuration is a mapping; got {config!r}.")
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
    env = _env(config, problems)
    tools = [_spec(TOOLS, *named, problems) for named in _named(config, "tools", problems)]
    wrappers = [_spec(WRAPPERS, *named, problems) for named in _named(config, "wrappers", problems)]
    tool_use = config.get("tool_use")
    if isinstance(tool_use, Mapping):
        _spec(WRAPPERS, "tool_use", {"id": "tools", **tool_use}, problems)
    elif tool_use is not None:
        problems.lines.append(f"tool_use: must be a mapping of parameters; got {tool_use!r}")
    problems.raise_if_any()
    return make_factory(
        env,  # type: ignore[arg-type]  # of None, an error was raised
        tools=tools,  # type: ignore[arg-type]
        wrappers=wrappers,  # type: ignore[arg-type]
        tool_use=tool_use if tools else None,
        seed=config.get("seed"),
    )


def _env(config: Mapping[str, Any], problems: _Problems) -> EnvSpec | None:
    """Return the spec of the environment, or of the mixture."""
    env, mixture = config.get("env"), config.get("mixture")
    if bool(env) == bool(mixture):
        problems.lines.append(
            "env: give either env or mixture, for example env=game/Sudoku-v0-easy"
        )
        return None
    if env:
        return _spec(ENVS, "env", env, problems)
    components = {}
    for where, value in _named(config, "mixture", problems):
        entry = dict(value) if isinstance(value, Mapping) else {"id": value}
        weight: Any = entry.pop("weight", 1.0)
        if not isinstance(weight, int | float):
            problems.lines.append(f"{where}.weight: must be a number; got {weight!r}")
        elif (spec := _spec(ENVS, where, entry, problems)) is not None:
            components[where.partition(".")[2]] = Component(make_factory(spec), weight)
    return EnvSpec(
        id="mixture:" + "_".join(components or ["empty"]),
        entry_point=MixtureEnv,
        kwargs={"components": components},
    )


def _named(config: Mapping[str, Any], key: str, problems: _Problems) -> Iterator[tuple[str, Any]]:
    """Yield the entries of a mapping or a list, each with its path for messages."""
    entries = config.get(key) or {}
    if isinstance(entries, Mapping):
        for name, value in entries.items():
            yield f"{key}.{name}", value
    elif isinstance(entries, str):
        yield f"{key}.0", entries
    elif isinstance(entries, list | tuple):
        for index, value in enumerate(entries):
            yield f"{key}.{index}", value
    else:
        problems.lines.append(f"{key}: must be a mapping, a list or an id; got {entries!r}")


def _spec(kind: Kind[S], where: str, value: Any, problems: _Problems) -> S | None:
    """Return the spec with checked parameters, or None after noting the problems."""
    named = isinstance(value, Mapping) and "id" in value
    kwargs = {str(key): value[key] for key in value if key != "id"} if named else {}
    try:
        spec = resolve(kind, value["id"] if named else value)
        target = spec.load()
    except GemError as error:
        problems.note(where, error)
        return None
    for name in list(kwargs):
        try:
            check_kwargs(target, [name], f"{spec.kind} {spec.id!r}")
        except UnknownKwargError as error:
            problems.note(f"{where}.{name}", error)
            del kwargs[name]
    try:
        return spec.with_kwargs(**part_kwargs(target, kwargs))
    except (pydantic.ValidationError, ConfigError) as error:
        problems.note(where, error)
        return None


def parameter_types(target: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a target's parameters, by name; empty if they cannot be read."""
    function = target.__init__ if inspect.isclass(target) else target
    try:
        return typing.get_type_hints(function, include_extras=True)
    except Exception:  # noqa: BLE001 - annotations may name what is not importable at run time
        return {}


def part_kwargs(target: Callable[..., Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return keyword arguments, converted to the types of the target's annotations.

    Raises:
        pydantic.ValidationError: A value does not have its parameter's type.
    """
    types = parameter_types(target)
    fields: dict[str, Any] = {name: (_checkable(types.get(name, Any)), ...) for name in kwargs}
    model = pydantic.create_model(
        "Parameters", __config__=pydantic.ConfigDict(arbitrary_types_allowed=True), **fields
    )
    values = model.model_validate(dict(kwargs))
    return {name: getattr(values, name) for name in kwargs}


def _checkable(annotation: Any) -> Any:
    """Return the annotation, or Any if pydantic cannot check it."""
    try:
        pydantic.TypeAdapter(annotation, config=pydantic.ConfigDict(arbitrary_types_allowed=True))
    except pydantic.PydanticUserError:
        # Models and dataclasses of pydantic have their own config, which TypeAdapter rejects.
        return annotation
    except Exception:  # noqa: BLE001 - pydantic cannot read it
        return Any
    return annotation

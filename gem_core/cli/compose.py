"""What commands share that are configured by Hydra: names are checked, parts are made.

Each such command has the groups ``env``, ``tools``, ``wrappers`` and ``agent``, and the keys
``envs`` (ids or patterns), ``mixture`` and ``tool_use``, besides keys of its own.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pydantic
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from gem_core.agent import Agent
from gem_core.config import factory_from_config, part_kwargs
from gem_core.errors import ConfigError, near_names
from gem_core.factory import EnvFactory
from gem_core.hydra_source import option_key
from gem_core.mixture import Component
from gem_core.plugins import default_registry
from gem_core.specs import AgentSpec, EnvSpec, Spec, ToolSpec, WrapperSpec, check_kwargs

__all__ = [
    "agent_makers",
    "check_values",
    "checked_overrides",
    "env_factories",
    "env_sources",
    "plain_config",
]

_KINDS: dict[str, type[Spec]] = {
    "env": EnvSpec,
    "agent": AgentSpec,
    "tools": ToolSpec,
    "wrappers": WrapperSpec,
}
_SHARED_KEYS = (*_KINDS, "envs", "mixture", "tool_use", "hydra")
_OPTION = re.compile(r"\+?(env|agent|tools|wrappers)(@[^=]*)?=([\w./,:\[\] -]+)")


def checked_overrides(overrides: Sequence[str], own_keys: Iterable[str]) -> list[str]:
    """Return what Hydra is to read, after a look at the names: Hydra would not know near ones.

    ``agent.model=x`` is written out as ``agent.openai.model=x`` if ``openai`` is the only agent.

    Args:
        overrides: What was typed.
        own_keys: The command's own keys.

    Raises:
        GemError: An id, key or parameter that does not exist.
    """
    if any(override.startswith("--config") for override in overrides):
        return list(overrides)
    keys = (*_SHARED_KEYS, *own_keys)
    for override in overrides:
        top = _key(override).partition(".")[0]
        if "=" in override and override[0] != "-" and re.split("[@/]", top)[0] not in keys:
            raise ConfigError(f"There is no key {top!r}.{near_names(top, keys)}")
    chosen = [found for override in overrides if (found := _OPTION.fullmatch(override))]
    for option in chosen:
        for name in _names(option[3]):
            if name == "null" and option[1] != "agent":
                continue
            default_registry().find(_KINDS[option[1]], name)
    agents = [
        (option[2], name) for option in chosen if option[1] == "agent" for name in _names(option[3])
    ]
    if len(agents) == 1 and agents[0][0] is None:
        overrides = _with_full_names(overrides, agents[0][1])
    envs = [option[3] for option in chosen if option[1] == "env" and option[2] is None]
    if envs and re.fullmatch(r"[\w./:-]+", envs[-1]) and envs[-1] != "null":
        _check_parameters(overrides, "env", default_registry().find(EnvSpec, envs[-1]))
    return [_with_agent_called_null(override) for override in overrides]


def _with_agent_called_null(override: str) -> str:
    """Quote the name of the agent ``null``, which Hydra would take for none at all."""
    option = _OPTION.fullmatch(override)
    if option is None or option[1] != "agent":
        return override
    return re.sub(r"(?<=[=\[,])(\s*)null(?=[\],]|$)", r"\1'null'", override)


def _key(override: str) -> str:
    return override.lstrip("+~").partition("=")[0]


def _names(value: str) -> list[str]:
    return [name for name in re.split(r"[\[\], ]+", value) if name]


def _with_full_names(overrides: Sequence[str], agent: str) -> list[str]:
    spec = default_registry().find(AgentSpec, agent)
    place = f"agent.{option_key(spec.id)}"
    full = [
        re.sub(r"agent\.", f"{place}.", override, count=1)
        if _key(override).startswith("agent.") and not _key(override).startswith(f"{place}.")
        else override
        for override in overrides
    ]
    _check_parameters(full, place, spec)
    return full


def _check_parameters(overrides: Iterable[str], place: str, spec: Spec) -> None:
    for override in overrides:
        if _key(override).startswith(f"{place}."):
            name = _key(override).removeprefix(f"{place}.").partition(".")[0]
            check_kwargs(spec.load(), [name], f"{spec.kind} {spec.id!r}")


def plain_config(config: DictConfig) -> dict[str, Any]:
    """Return a composed configuration as dicts and lists, interpolations resolved.

    Raises:
        ConfigError: A value is missing, or an interpolation leads nowhere.
    """
    try:
        plain: Any = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    except OmegaConfBaseException as error:
        line = str(error).splitlines()[0]
        raise ConfigError(
            f"{error.full_key} needs a value: {error.full_key}=... ({line})"
        ) from error
    return plain  # type: ignore[no-any-return]


def check_values(model: type[pydantic.BaseModel], config: Mapping[str, Any]) -> None:
    """Check a command's own keys.

    Raises:
        ConfigError: With one line for each value that cannot be used.
    """
    try:
        model.model_validate(config)
    except pydantic.ValidationError as error:
        lines = [
            f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}; got {problem['input']!r}"
            if problem["loc"]
            else problem["msg"].removeprefix("Value error, ")
            for problem in error.errors()
        ]
        raise ConfigError("\n  ".join(["The configuration cannot be used:", *lines])) from error


def env_factories(config: Mapping[str, Any]) -> list[EnvFactory]:
    """Return what makes each environment of a configuration, sorted by id if there are several.

    Raises:
        GemError: A part does not exist or refuses its parameters.
    """
    patterns = config.get("envs") or []
    patterns = [patterns] if isinstance(patterns, str) else patterns
    if not patterns:
        return [factory_from_config(config)]
    if config.get("env") or config.get("mixture"):
        raise ConfigError("envs: give either envs, env or mixture")
    specs: dict[str, EnvSpec] = {}
    for pattern in patterns:
        found = default_registry().list(EnvSpec, pattern)
        found = found or [default_registry().find(EnvSpec, pattern)]
        specs.update((spec.id, spec) for spec in found)
    return [factory_from_config({**config, "env": env_id}) for env_id in sorted(specs)]


def env_sources(config: Mapping[str, Any]) -> dict[str, Component]:
    """Return the environments of a configuration by name: each id, or each part of a mixture.

    Where ``env_factories`` makes one environment of a mixture, here its parts stay apart, so that
    their shares can change.

    Raises:
        GemError: A part does not exist or refuses its parameters.
    """
    mixture = config.get("mixture") or {}
    if not mixture or config.get("env") or config.get("envs"):
        return {one.spec.id: Component(one) for one in env_factories(config)}
    env_factories(config)  # tells all that is wrong with it at once
    sources = {}
    for name, part in mixture.items():
        env: dict[str, Any] = {"id": part} if isinstance(part, str) else dict(part)
        weight = env.pop("weight", 1.0)
        factory = factory_from_config({**config, "env": env, "mixture": None})
        sources[name] = Component(factory, weight)
    return sources


def agent_makers(config: Mapping[str, Any]) -> dict[str, Callable[[], Agent]]:
    """Return what makes each agent of a configuration, by name.

    Raises:
        ConfigError: There is none, or a parameter has a value that it cannot have.
        GemError: An agent does not exist, cannot be imported or does not take a parameter.
    """
    makers = {name: _agent_maker(name, part) for name, part in (config.get("agent") or {}).items()}
    if not makers:
        raise ConfigError("agent: give at least one, for example agent=random")
    return makers


def _agent_maker(name: str, part: Any) -> Callable[[], Agent]:
    kwargs = {"id": part} if isinstance(part, str) else dict(part or {"id": name})
    if "id" not in kwargs:
        raise ConfigError(f"agent.{name} needs an id, such as +agent@agent.{name}=random.")
    spec = default_registry().find(AgentSpec, kwargs.pop("id"))
    target = spec.load()
    check_kwargs(target, kwargs, f"agent {spec.id!r}")
    try:
        kwargs = part_kwargs(target, kwargs)
    except pydantic.ValidationError as error:
        lines = [
            f"agent.{name}.{p['loc'][0]}: {p['msg']}; got {p['input']!r}" for p in error.errors()
        ]
        raise ConfigError("\n  ".join(["The configuration cannot be used:", *lines])) from error
    return lambda: spec.make(**kwargs)

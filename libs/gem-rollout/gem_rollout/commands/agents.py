"""The agents that a command's configuration describes, each with a name."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pydantic

from gem_core.agent import Agent
from gem_core.config import describe_validation_error, part_kwargs
from gem_core.errors import ConfigError
from gem_core.plugins import default_registry
from gem_core.specs import AGENTS, check_kwargs

__all__ = ["agent_makers", "unusable"]


def agent_makers(config: Mapping[str, Any]) -> dict[str, Callable[[], Agent]]:
    """Return a function for each agent of a configuration, by name, that makes the agent.

    Raises:
        ConfigError: There is no agent, or a parameter has a value that it cannot have.
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
    spec = default_registry().find(AGENTS, kwargs.pop("id"))
    target = spec.load()
    check_kwargs(target, kwargs, f"agent {spec.id!r}")
    try:
        kwargs = part_kwargs(target, kwargs)
    except pydantic.ValidationError as error:
        raise unusable(describe_validation_error(error, f"agent.{name}")) from error
    return functools.partial(spec.make, **kwargs)


def unusable(lines: Sequence[str]) -> ConfigError:
    """Return the error of a configuration with a line for each problem."""
    return ConfigError("\n  ".join(["The configuration cannot be used:", *lines]))

"""Checks what was typed at a command before Hydra reads it: Hydra would not suggest near names.

Hydra's own parser reads the overrides. A word that is not an override is an environment's id, or a
pattern of ids.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, Override, QuotedString
from hydra.errors import HydraException

from gem_core.errors import ConfigError, near_names
from gem_core.hydra_source import option_key
from gem_core.options import complete_envs, completions, warn_deprecated
from gem_core.plugins import default_registry
from gem_core.specs import AgentSpec, EnvSpec, Spec, ToolSpec, WrapperSpec, check_kwargs
from gem_rollout.redaction import redact_words

__all__ = [
    "GROUPS",
    "checked_overrides",
    "complete_overrides",
    "renamed_overrides",
    "with_environments",
]

GROUPS: dict[str, type[Spec]] = {
    "env": EnvSpec,
    "agent": AgentSpec,
    "tools": ToolSpec,
    "wrappers": WrapperSpec,
}
"""The keys of a command that take ids, with the kind of each."""
_LONGEST = 300
"""The number of characters of a long override that are shown."""


def with_environments(words: Sequence[str]) -> list[str]:
    """Return overrides, in which ids and patterns of environments are ``env=`` or ``envs=``.

    One id becomes ``env=``, so that ``env.NAME=`` can set its parameters.

    Raises:
        ConfigError: Environments are also given by ``env=`` or ``envs=``, or there is a space
            beside a ``=``.
    """
    if any(word.startswith("=") for word in words):
        raise ConfigError("Write KEY=VALUE without spaces around '='.")
    ids = [word for word in words if "=" not in word and word[:1] != "~"]
    if not ids:
        return list(words)
    others = [word for word in words if word not in ids]
    if any(word.partition("=")[0].lstrip("+") in ("env", "envs") for word in others):
        raise ConfigError(
            f"Environments are given twice: as {' '.join(ids)}, and by env= or envs=. Choose one."
        )
    if len(ids) == 1 and not {"*", "?"} & set(ids[0]):
        return [f"env={ids[0].replace(':', '/', 1)}", *others]
    quoted = ",".join("'" + one.replace("'", r"\'") + "'" for one in ids)
    return [f"envs=[{quoted}]", *others]


def renamed_overrides(overrides: Sequence[str], aliases: Mapping[str, str]) -> list[str]:
    """Return the overrides with deprecated keys replaced, after a warning for each.

    Args:
        overrides: Overrides, as typed.
        aliases: The key that replaces each deprecated one.
    """
    renamed = []
    for override in overrides:
        key, equals, value = override.partition("=")
        name = key.lstrip("+")
        if equals and name in aliases:
            warn_deprecated(f"{name}=", f"{aliases[name]}=")
            override = f"{aliases[name]}={value}"  # noqa: PLW2901
        renamed.append(override)
    return renamed


def checked_overrides(overrides: Sequence[str], keys: Collection[str]) -> list[str]:
    """Return the overrides that Hydra is to read.

    If there is one agent, such as ``openai``, ``agent.model=x`` becomes ``agent.openai.model=x``.
    In a list of agents, ``null`` becomes ``silent``.

    Args:
        overrides: Overrides, as typed.
        keys: The top-level keys and groups of the command's configuration.

    Raises:
        ConfigError: An override that cannot be parsed, or a key that does not exist.
        UnknownIdError: There is no such environment, agent, tool or wrapper.
        UnknownKwargError: An environment or agent does not take the parameter.
    """
    parsed = [_with_silent(_parsed(override)) for override in overrides]
    for override in parsed:
        top = override.key_or_group.partition(".")[0]
        if top.partition("/")[0] not in keys:
            near = near_names(top, keys) or f" A parameter of the environment is env.{top}=VALUE."
            raise ConfigError(f"There is no key {top!r}.{near}")
    chosen = [
        (override, _specs(override)) for override in parsed if override.key_or_group in GROUPS
    ]
    agents = [
        (one.package, spec)
        for one, specs in chosen
        if one.key_or_group == "agent"
        for spec in specs
    ]
    checked = [str(override.input_line) for override in parsed]
    if len(agents) == 1 and agents[0][0] is None:
        spec = agents[0][1]
        key = f"agent.{option_key(spec.id)}"
        checked = [_with_full_name(override, key) for override in parsed]
        _check_parameters(checked, key, spec)
    envs = {one.package or "env": specs for one, specs in chosen if one.key_or_group == "env"}
    for key, specs in envs.items():
        if len(specs) == 1:
            _check_parameters(checked, key, specs[0], mixed=key.startswith("mixture."))
    return checked


def _parsed(text: str) -> Override:
    try:
        return OverridesParser.create().parse_override(text)
    except (HydraException, RecursionError) as error:
        shown, why = redact_words([text])[0], str(error)
        raise ConfigError(
            f"{shown[:_LONGEST]!r} cannot be parsed: {why[:_LONGEST]}"
            if len(shown) > _LONGEST
            else f"{shown!r} cannot be parsed: {why}"
        ) from error


def _with_silent(override: Override) -> Override:
    """Return an override with the agent that says nothing for each ``null`` in a list of agents."""
    value = override._value  # noqa: SLF001 - value() does not keep quotes
    if override.key_or_group != "agent" or not isinstance(value, list) or None not in value:
        return override
    ids = (one.with_quotes() if isinstance(one, QuotedString) else one for one in value)
    listed = ",".join("silent" if one is None else str(one) for one in ids)
    return _parsed(f"{str(override.input_line).partition('=')[0]}=[{listed}]")


def _specs(override: Override) -> list[Spec]:
    """Return the specs of the ids that an override chooses."""
    ids = _ids(override._value)  # noqa: SLF001 - value() does not unquote the values of a sweep
    if override.key_or_group == "agent" and None in ids:
        raise ConfigError("agent=null chooses no agent. The agent that says nothing is 'silent'.")
    if isinstance(override._value, list) and (twice := _twice(ids)):  # noqa: SLF001
        raise ConfigError(f"{override.input_line}: {twice!r} is there twice; name it once.")
    if any(isinstance(one, dict | list) for one in ids):
        key = override.key_or_group
        raise ConfigError(
            f"{key}= takes ids, such as {key}=[A,B]; got {override.input_line}. Parameters are "
            f"{key}.NAME=VALUE, or {key}.A.NAME=VALUE for one of several."
        )
    kind = GROUPS[override.key_or_group]
    return [default_registry().find(kind, str(one)) for one in ids if one is not None]


def _twice(ids: Sequence[Any]) -> Any:
    """Return the first id that occurs twice; None if there is none."""
    plain = [str(one).replace("/", ":", 1) for one in ids]
    return next((one for index, one in enumerate(plain) if one in plain[:index]), None)


def _ids(value: Any) -> list[Any]:
    """Return what a value has in the place of ids; nothing for a single mapping."""
    if isinstance(value, ChoiceSweep):
        return [one for choice in value.list for one in _ids(choice)]
    if isinstance(value, list):
        return [one for item in value for one in _id(item)]
    return [] if isinstance(value, dict) else _id(value)


def _id(value: Any) -> list[Any]:
    if isinstance(value, QuotedString):
        return [value.text]
    return [value] if isinstance(value, str | int | float | list | dict) or value is None else []


def _with_full_name(override: Override, key: str) -> str:
    line = str(override.input_line)
    name = override.key_or_group
    if not name.startswith("agent.") or f"{name}.".startswith(f"{key}."):
        return line
    return line.replace("agent.", f"{key}.", 1)


def _check_parameters(
    overrides: Iterable[str], key: str, spec: Spec, *, mixed: bool = False
) -> None:
    for override in overrides:
        name = override.lstrip("+~").partition("=")[0]
        if name.startswith(f"{key}."):
            parameter = name.removeprefix(f"{key}.").partition(".")[0]
            if parameter != "weight" or not mixed:
                check_kwargs(spec.load(), [parameter], f"{spec.kind} {spec.id!r}")


def complete_overrides(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return what may follow: an environment's id, or the id after ``agent=`` and the like."""
    key, equals, value = incomplete.partition("=")
    if not equals:
        return complete_envs(_ctx, _param, incomplete)
    if key not in GROUPS:
        return []
    cut = max(value.rfind("["), value.rfind(",")) + 1
    specs = default_registry().list(GROUPS[key], f"{value[cut:]}*")
    return completions(specs, f"{key}={value[:cut]}")

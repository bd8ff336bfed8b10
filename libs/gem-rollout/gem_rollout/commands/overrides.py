"""Checks the words of a command before Hydra reads them: Hydra would not suggest near names.

Hydra's own parser reads the overrides. A word that is not an override is an environment's id, or a
pattern of ids.
"""

import inspect
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click
from click.shell_completion import CompletionItem
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, Override, QuotedString
from hydra.errors import HydraException

from gem_core.errors import ConfigError, GemError, UnknownKwargError, near_names
from gem_core.hydra_source import option_key
from gem_core.notices import results_alone
from gem_core.options import complete_envs, completions
from gem_core.plugins import default_registry
from gem_core.specs import (
    AGENTS,
    ENVS,
    TOOLS,
    WRAPPERS,
    Kind,
    Spec,
    check_kwargs,
)
from gem_rollout.commands.signatures import parameters_of
from gem_rollout.commands.suites import SUITES, Suite
from gem_rollout.records.redaction import HIDDEN, typed

__all__ = [
    "GROUPS",
    "Group",
    "checked_overrides",
    "complete_overrides",
    "help_of_group",
    "kinds_of_groups",
    "unreadable",
    "with_environments",
    "with_executor",
    "with_suite",
]

GROUPS: dict[str, Kind[Any]] = {
    "env": ENVS,
    "agent": AGENTS,
    "tools": TOOLS,
    "wrappers": WRAPPERS,
}
"""The keys of a command that take ids, with the kind of each."""


@dataclass(frozen=True)
class Group:
    """A further group of a command.

    Args:
        kind: The kind of its options.
        several: Whether it takes a list of options.
        default: The options that it has by default.
        keys: Keys of the command in the same place of the configuration.
    """

    kind: Kind[Any]
    several: bool
    default: Sequence[str] = ()
    keys: Collection[str] = ()


def kinds_of_groups() -> dict[str, Kind[Any]]:
    """Return the kind of spec of each group of Hydra, those of plugins included."""
    return {kind.group: kind for kind in default_registry().kinds() if kind.group}


def help_of_group(kind: Kind[Any]) -> Iterator[tuple[str, str]]:
    """Yield the id of each option of a group, and its description with its parameters."""
    for spec in default_registry().list(kind):
        text = spec.description[:1].upper() + spec.description[1:].rstrip(".")
        try:
            with results_alone():
                values = parameters_of(spec)
        except GemError as error:
            yield spec.id, f"{text}. It cannot be loaded: {error}"
            continue
        shown = ", ".join(
            name if value is inspect.Parameter.empty else f"{name}={typed(value)}"
            for name, value in values.items()
        )
        yield spec.id, f"{text}. {shown}"


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


def with_suite(overrides: Sequence[str], keys: Collection[str]) -> list[str]:
    """Return overrides in which ``suite=ID`` is replaced by the suite's environments and settings.

    Keys that were typed too keep the value that was typed.

    Args:
        overrides: Overrides, as typed.
        keys: The top-level keys and groups of the command.

    Raises:
        ConfigError: Environments are also given in another way, or two suites are given.
        UnknownIdError: There is no such suite.
    """
    chosen = [one.partition("=")[2] for one in overrides if one.startswith("suite=")]
    others = [one for one in overrides if not one.startswith("suite=")]
    if not chosen:
        return others
    own = {one.partition("=")[0].lstrip("+") for one in others}
    if len(chosen) > 1 or any(key.startswith(("env", "mixture")) for key in own):
        raise ConfigError(
            "Environments are given twice: a suite has its own. Choose one suite=, or the "
            "environments without a suite."
        )
    suite: Suite = default_registry().find(SUITES, chosen[0]).make()
    settings = {"envs": list(suite.envs), **suite.settings}
    return [
        *(f"{key}={_quoted(value)}" for key, value in settings.items() if key in {*keys} - own),
        *others,
    ]


def _quoted(value: Any) -> str:
    """Return a value in Hydra's grammar, with its texts in quotes."""
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", r"\'") + "'"
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}: {_quoted(one)}" for key, one in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ",".join(map(_quoted, value)) + "]"
    return typed(value)


def with_executor(overrides: Sequence[str]) -> list[str]:
    """Return the overrides; after ``executor=ray``, ``ray.NAME=`` becomes ``executor.NAME=``."""
    chosen = [one.partition("=")[2] for one in overrides if one.startswith("executor=")]
    prefix = f"{chosen[-1]}." if chosen and chosen[-1] else None
    if prefix is None:
        return list(overrides)
    return [
        one.replace(prefix, "executor.", 1) if one.lstrip("+").startswith(prefix) else one
        for one in overrides
    ]


def checked_overrides(
    overrides: Sequence[str],
    keys: Collection[str],
    groups: Mapping[str, Group] | None = None,
    *,
    nested: Collection[str] = (),
) -> list[str]:
    """Return the overrides that Hydra is to read.

    If there is one agent, such as ``openai``, ``agent.model=x`` becomes ``agent.openai.model=x``.
    In a list of agents, ``null`` becomes ``silent``.

    Args:
        overrides: Overrides, as typed.
        keys: The top-level keys and groups of the command's configuration.
        groups: The command's further groups by name.
        nested: The full names of all keys in its parts, such as ``optim.lr``.

    Raises:
        ConfigError: An override that cannot be parsed, or a key that does not exist.
        UnknownIdError: There is no such environment, agent, tool, wrapper or option of a group.
        UnknownKwargError: An environment, an agent or an option does not take the parameter.
    """
    groups = groups or {}
    kinds = {**GROUPS, **{name: group.kind for name, group in groups.items()}}
    parsed = [_with_silent(_parsed(override)) for override in overrides]
    for override in parsed:
        top = override.key_or_group.partition(".")[0]
        if top.partition("/")[0] not in keys:
            raise ConfigError(f"There is no key {top!r}.{_instead_of(top, keys, nested)}")
    _check_nested(overrides, nested)
    chosen = [
        (override, _specs(override, kinds[override.key_or_group]))
        for override in parsed
        if override.key_or_group in kinds and not isinstance(override.value(), dict)
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
    for name, group in groups.items():
        found = [specs for one, specs in chosen if one.key_or_group == name]
        default = [[default_registry().find(group.kind, one) for one in group.default]]
        _check_group(checked, name, group, (found or default)[-1])
    return checked


def _instead_of(name: str, keys: Collection[str], nested: Collection[str]) -> str:
    """Return a suggestion for a top-level key that does not exist."""
    inner = [repr(one) for one in nested if one.rpartition(".")[2] == name]
    if inner:
        return f" Did you mean {' or '.join(inner)}?"
    return near_names(name, keys) or f" A parameter of the environment is env.{name}=VALUE."


def _check_nested(overrides: Iterable[str], nested: Collection[str]) -> None:
    """Check the keys in parts of the configuration, except those that are added with ``+``."""
    parts = {one.partition(".")[0] for one in nested}
    for override in overrides:
        key = override.partition("=")[0]
        part, dot, _ = key.partition(".")
        known = any(f"{key}.".startswith(f"{one}.") for one in nested)
        if dot and part in parts and not known:
            its = [one.removeprefix(f"{part}.") for one in nested if one.startswith(f"{part}.")]
            near = near_names(key.removeprefix(f"{part}."), its)
            raise ConfigError(f"There is no key {key!r}.{near} {part} has: {', '.join(its)}.")


def _check_group(overrides: Iterable[str], name: str, group: Group, specs: Sequence[Spec]) -> None:
    """Check the names of parameters of a further group's options."""
    if group.several:
        for spec in specs:
            _check_parameters(overrides, f"{name}.{option_key(spec.id)}", spec)
    elif len(specs) == 1:
        own = [one for one in overrides if _second(one) not in group.keys]
        _check_parameters(own, name, specs[0], others=group.keys)


def _second(override: str) -> str:
    """Return the second part of an override's key."""
    return override.partition("=")[0].partition(".")[2].partition(".")[0]


def _parsed(text: str) -> Override:
    try:
        return OverridesParser.create().parse_override(text)
    except (HydraException, RecursionError) as error:
        raise unreadable(text) from error


def unreadable(override: str) -> ConfigError:
    """Return the error of an override that cannot be parsed; its value may be a secret."""
    key, _, value = override.partition("=")
    if HIDDEN in value:
        return ConfigError(
            f"The value of {key!r} was not recorded, as it is secret. Give it again."
        )
    return ConfigError(
        f"The value of {key!r} cannot be parsed. Are all brackets and quotes closed? A text with "
        f"special characters needs quotes within the quotes of the shell: \"{key}='...'\"."
    )


def _with_silent(override: Override) -> Override:
    """Return an override with the agent ``silent`` for each ``null`` in a list of agents."""
    value = override._value  # noqa: SLF001 - value() does not keep quotes
    if override.key_or_group != "agent" or not isinstance(value, list) or None not in value:
        return override
    ids = (one.with_quotes() if isinstance(one, QuotedString) else one for one in value)
    listed = ",".join("silent" if one is None else str(one) for one in ids)
    return _parsed(f"{str(override.input_line).partition('=')[0]}=[{listed}]")


def _specs(override: Override, kind: Kind[Any]) -> list[Spec]:
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
    return [default_registry().find(kind, str(one)) for one in ids if one is not None]


def _twice(ids: Sequence[Any]) -> Any:
    """Return the first id that occurs twice; None if there is none."""
    plain = [str(one).replace("/", ":", 1) for one in ids]
    return next((one for index, one in enumerate(plain) if one in plain[:index]), None)


def _ids(value: Any) -> list[Any]:
    """Return the ids that a value names; none for a single mapping."""
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
    overrides: Iterable[str],
    key: str,
    spec: Spec,
    *,
    mixed: bool = False,
    others: Collection[str] = (),
) -> None:
    for override in overrides:
        name = override.lstrip("+~").partition("=")[0]
        if name.startswith(f"{key}."):
            parameter = name.removeprefix(f"{key}.").partition(".")[0]
            if parameter != "weight" or not mixed:
                _check_parameter(parameter, spec, others)


def _check_parameter(name: str, spec: Spec, others: Collection[str]) -> None:
    """Check that an entry point takes a parameter.

    Raises:
        UnknownKwargError: It does not; the message names the parameters, and other keys there.
    """
    try:
        check_kwargs(spec.load(), [name], f"{spec.kind} {spec.id!r}")
    except UnknownKwargError as error:
        if not others:
            raise
        near = near_names(name, others)
        message = f"{error} Other keys in the same place:{near} {', '.join(others)}."
        raise UnknownKwargError(message) from None


def complete_overrides(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the completions: an environment's id, or the id after ``agent=`` and the like."""
    key, equals, value = incomplete.partition("=")
    if not equals:
        return complete_envs(_ctx, _param, incomplete)
    kinds = kinds_of_groups()
    if key not in kinds:
        return []
    cut = max(value.rfind("["), value.rfind(",")) + 1
    specs = default_registry().list(kinds[key], f"{value[cut:]}*")
    return completions(specs, f"{key}={value[:cut]}")

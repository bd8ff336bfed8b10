"""Words as Hydra reads them, and the specs that they choose, by place in the configuration."""

import contextlib
import functools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, QuotedString, ValueType
from hydra.errors import HydraException

from gem_core.config import parameter_types
from gem_core.errors import ConfigError, GemError, UnknownKwargError, near_names
from gem_core.hydra_source import option_key
from gem_core.plugins import default_registry
from gem_core.specs import ENVS, Kind, Spec, check_kwargs

__all__ = ["NAMED", "Chosen", "Group", "Word", "parsed"]


NAMED = ("envs", "mixture")
"""Keys of environments with names."""


@dataclass(frozen=True)
class Group:
    """A key of a command that takes ids.

    Args:
        kind: The kind of its options.
        default: The options that it has by default.
        keys: Keys of the command in the same place of the configuration.
    """

    kind: Kind[Any]
    default: Sequence[str] = ()
    keys: Collection[str] = ()


@dataclass(frozen=True)
class Word:
    """An override.

    Args:
        sign: ``+``, ``++``, ``~``, or nothing.
        key: The key or group.
        package: The place for the options of the group, if it was typed: ``key@package``.
        text: ``=`` and the value as it was typed; nothing in ``~key``.
        value: The value that Hydra's parser found; texts in quotes are ``QuotedString``.
        is_list: Whether it has several values, such as ``1,2``.
    """

    sign: str
    key: str
    package: str | None
    text: str
    value: Any
    is_list: bool

    @property
    def name(self) -> str:
        """The key with its package."""
        return self.key if self.package is None else f"{self.key}@{self.package}"

    def __str__(self) -> str:
        """Return the word for Hydra."""
        return f"{self.sign}{self.name}{self.text}"

    def ids(self) -> list[Any]:
        """Return what it chooses: each id of a list, and of the values of a sweep."""
        choices = self.value.list if isinstance(self.value, ChoiceSweep) else [self.value]
        listed = [one if isinstance(one, list) else [one] for one in choices]
        found = [
            one.text if isinstance(one, QuotedString) else one for ids in listed for one in ids
        ]
        return [str(one) if isinstance(one, int | float) else one for one in found]


@functools.cache
def _parser() -> OverridesParser:
    return OverridesParser.create()


def parsed(text: str) -> Word | None:
    """Return a word; None if it cannot be parsed."""
    try:
        found = _parser().parse_override(text)
    except (HydraException, RecursionError):
        return None
    head, equals, value = text.partition("=")
    return Word(
        sign=head[: len(head) - len(head.lstrip("+~"))],
        key=found.key_or_group,
        package=found.package,
        text=equals + value,
        value=found._value,  # noqa: SLF001 - value() does not unquote the values of a sweep
        is_list=found.value_type is ValueType.SIMPLE_CHOICE_SWEEP,
    )


@dataclass(frozen=True)
class Chosen:
    """Specs by their places, such as ``env``, ``agent.oracle`` and ``mixture.a``."""

    specs: Mapping[str, Spec]

    @classmethod
    def by(
        cls,
        words: Sequence[Word],
        groups: Mapping[str, Group],
        recorded: Mapping[str, Any] | None = None,
    ) -> Self:
        """Return what words choose, and by default where they set parameters.

        Args:
            words: The words.
            groups: The keys that take ids.
            recorded: The configuration of a run, without what the words replace.

        Raises:
            ConfigError: A value is not an id, an id is there twice, or parameters are set where
                nothing is chosen.
            UnknownIdError: There is no such spec.
        """
        found = dict(_recorded(recorded or {}, groups))
        for word in words:
            is_choice = word.key in groups and word.sign != "~"
            if is_choice and not isinstance(word.value, dict):
                found |= _placed(word, groups[word.key].kind)
        for name, group in groups.items():
            its = [word for word in words if word.key.startswith(f"{name}.")]
            places = [word.package for word in words if word.key == name]
            if its and None not in places:
                specs = [default_registry().find(group.kind, one) for one in group.default]
                found |= {_place(name, group.kind, spec): spec for spec in specs}
            is_there = any(one.split(".")[0] == name for one in found)
            if its and not is_there and not places and not group.default:
                _check_own(its, group)
        return cls(found)

    def of(self, key: str) -> tuple[str, Spec | None, str]:
        """Return the place that a key belongs to, its spec, and the name of the parameter."""
        place = next((one for one in self.specs if key.startswith(f"{one}.")), "")
        return place, self.specs.get(place), key.removeprefix(f"{place}.").partition(".")[0]

    def full_name(self, key: str) -> str:
        """Return ``agent.ID.NAME`` for ``agent.NAME`` if there is one agent, and it has no name."""
        agents = [place for place in self.specs if place.startswith("agent.")]
        if len(agents) != 1 or not key.startswith("agent."):
            return key
        (place,) = agents
        is_named = place != f"agent.{option_key(self.specs[place].id)}"
        is_full = f"{key}.".startswith(f"{place}.")
        return key if is_named or is_full else key.replace("agent.", f"{place}.", 1)

    def type_of(self, key: str) -> Any:
        """Return the type of a parameter; None if it is not known."""
        place, spec, name = self.of(self.full_name(key))
        is_whole = spec is not None and self.full_name(key) == f"{place}.{name}"
        return parameter_types(spec.load()).get(name) if spec and is_whole else None

    def config(self) -> dict[str, Any]:
        """Return a configuration that has the ids alone."""
        config: dict[str, Any] = {}
        for place, spec in self.specs.items():
            inner = config
            for part in place.split("."):
                inner = inner.setdefault(part, {})
            inner["id"] = spec.id
        return config

    def check(self, key: str, groups: Mapping[str, Group]) -> None:
        """Check that a key names a parameter, if it is that of a chosen spec.

        Raises:
            UnknownKwargError: It does not; the message suggests near names.
        """
        place, spec, name = self.of(key)
        others = groups[place].keys if place in groups else ()
        is_weight = name == "weight" and place.startswith("mixture.")
        if spec is None or is_weight or name in others:
            return
        try:
            check_kwargs(spec.load(), [name], f"{spec.kind} {spec.id!r}")
        except UnknownKwargError as error:
            if not others:
                raise
            near = f"{near_names(name, others)} {', '.join(others)}."
            raise UnknownKwargError(f"{error} Other keys in the same place:{near}") from None


def _recorded(config: Mapping[str, Any], groups: Mapping[str, Group]) -> Iterator[tuple[str, Spec]]:
    """Yield the specs of the parts of a configuration, by place, that are installed."""
    kinds = {name: group.kind for name, group in groups.items()} | dict.fromkeys(NAMED, ENVS)
    for name, kind in kinds.items():
        part = config.get(name)
        is_one = isinstance(part, Mapping) and "id" in part
        parts = {name: part} if is_one else {f"{name}.{key}": one for key, one in _items(part)}
        for place, one in parts.items():
            with contextlib.suppress(GemError):  # whoever makes the part reports it
                part_id = one.get("id") if isinstance(one, Mapping) else one
                yield place, default_registry().find(kind, str(part_id))


def _items(value: Any) -> Iterable[tuple[Any, Any]]:
    return value.items() if isinstance(value, Mapping) else ()


def _placed(word: Word, kind: Kind[Any]) -> dict[str, Spec]:
    """Return the specs that a word chooses, by place; none for a choice that a sweep makes."""
    if isinstance(word.value, list) and not kind.several:
        several = " Several environments are envs=[A,B]." if word.key == "env" else ""
        raise ConfigError(f"{word.key}= takes one {kind}; got {word}.{several}")
    specs = [default_registry().find(kind, one) for one in _ids(word)]
    if not kind.several or word.package is not None:
        return {word.package or word.key: specs[0]} if len(specs) == 1 else {}
    return {_place(word.key, kind, spec): spec for spec in specs}


def _place(name: str, kind: Kind[Any], spec: Spec) -> str:
    return f"{name}.{option_key(spec.id)}" if kind.several else name


def _ids(word: Word) -> list[str]:
    """Return the ids that a word chooses."""
    ids, key = word.ids(), word.key
    if any(isinstance(one, dict | list) for one in ids):
        raise ConfigError(
            f"{key}= takes ids, such as {key}=[A,B]; got {word}. Parameters are {key}.NAME=VALUE, "
            f"or {key}.A.NAME=VALUE for one of several."
        )
    if key == "agent" and None in ids:
        raise ConfigError(f"{word}: null is not an agent. The agent that says nothing is 'silent'.")
    plain = [one.replace("/", ":", 1) for one in ids if isinstance(one, str)]
    twice = next((one for index, one in enumerate(plain) if one in plain[:index]), None)
    if isinstance(word.value, list) and twice is not None:
        raise ConfigError(f"{word}: {twice!r} is there twice; name it once.")
    return [one for one in ids if isinstance(one, str)]


def _check_own(words: Sequence[Word], group: Group) -> None:
    """Check words that belong to a group of which nothing is chosen."""
    for word in words:
        name, parameter, *_ = word.key.split(".")
        if not word.sign and parameter not in group.keys:
            several = "; with several, 'envs=[{id: ID, NAME: VALUE}, ID]'" if name == "env" else ""
            raise ConfigError(f"{word.key} needs {name}=ID{several}.")

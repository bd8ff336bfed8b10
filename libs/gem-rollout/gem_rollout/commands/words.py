"""The words of a command: the one place that turns what is typed into overrides for Hydra.

============================  =====================================================================
word                          what Hydra reads
============================  =====================================================================
``game:Sudoku-v0-easy``       ``env=game/Sudoku-v0-easy``, so that ``env.NAME=`` sets parameters
several ids, or a pattern     ``envs=[...]``
``suite=ID``                  the environments and settings of the suite
``agent.NAME=VALUE``          ``agent.ID.NAME=VALUE``, if there is one agent
``lora.r=16``                 ``++lora.r=16``, in a key that is a mapping without keys of its own
``user=ID``                   ``user.id=ID``, if such a mapping has an id
============================  =====================================================================

Everything else is read by Hydra as it was typed. Its parser reads each word here too, since Hydra
would not suggest near names or say how a value is quoted.
"""

import contextlib
import functools
import re
import shlex
import types
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, Quote, QuotedString, ValueType
from hydra.errors import HydraException
from pydantic.fields import FieldInfo

from gem_core.config import parameter_types
from gem_core.errors import ConfigError, GemError, UnknownKwargError, near_names
from gem_core.hydra_source import option_key
from gem_core.plugins import default_registry
from gem_core.specs import Kind, Spec, check_kwargs
from gem_rollout.commands.suites import SUITES, Suite
from gem_rollout.records.redaction import HIDDEN, redact_words, typed

__all__ = ["Grammar", "Group", "Word", "alternatives"]

_LONGEST_SHOWN = 500
"""Characters of a value that a message repeats."""


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
        package: Where Hydra puts the options of the group, if it was typed: ``key@package``.
        text: The value as it was typed; None if there is none: ``~key``.
        value: The value that Hydra's parser found in the text.
        is_list: Whether the text has several values, such as ``1,2``, for ``--multirun``.
    """

    sign: str
    key: str
    package: str | None
    text: str | None
    value: Any
    is_list: bool = False

    @property
    def name(self) -> str:
        """The key with its package."""
        return self.key if self.package is None else f"{self.key}@{self.package}"

    def __str__(self) -> str:
        """Return the word for Hydra."""
        return f"{self.sign}{self.name}" + ("" if self.text is None else f"={self.text}")


@functools.cache
def _parser() -> OverridesParser:
    return OverridesParser.create()


def _parsed(text: str) -> Word | None:
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
        text=value if equals else None,
        value=found._value,  # noqa: SLF001 - value() does not keep quotes
        is_list=found.value_type is ValueType.SIMPLE_CHOICE_SWEEP,
    )


@dataclass(frozen=True)
class Grammar:
    """What may be typed after a command.

    Args:
        keys: The top-level keys.
        groups: The keys that take ids.
        fields: The command's own keys by full name, such as ``optim.lr``.
        subject: The group that the first bare word belongs to; empty if that is an environment.
        further: Returns further words, given the values that were typed by key. Those whose keys
            were typed are left out.
    """

    keys: Collection[str]
    groups: Mapping[str, Group]
    fields: Mapping[str, FieldInfo] = field(default_factory=dict)
    subject: str = ""
    further: Callable[[Mapping[str, str]], Iterable[str]] | None = None

    def overrides(
        self, words: Sequence[str], *, is_sweep: bool = False, is_own: bool = False
    ) -> list[str]:
        """Return the overrides that Hydra is to read.

        Args:
            words: What was typed.
            is_sweep: Whether a key may have several values.
            is_own: Whether the configuration is the user's own, whose keys are not known.

        Raises:
            ConfigError: A word cannot be parsed, a key does not exist, environments are given in
                two ways, or a number is given where a text is wanted.
            UnknownIdError: There is no such environment, agent, tool, wrapper or option of a group.
            UnknownKwargError: An environment, an agent or an option does not take the parameter.
        """
        read = self._read(self._with_keys(words))
        read = [self._in_mapping(word) for word in self._with_further(read)]
        if not is_own:
            self._check_keys(read)
            chosen = self.chosen(read)
            read = _with_full_names(read, chosen)
            is_sweep = is_sweep or any(word.key == "hydra.mode" for word in read)
            for word in read:
                self._check_parameter(word, chosen)
                self._check_text(word, chosen)
                if word.is_list and not is_sweep:
                    raise self._several_values(word, chosen)
        return [*map(str, read)]

    def _with_keys(self, words: Sequence[str]) -> list[str]:
        """Return the words with ``env=``, ``envs=`` or the subject before ids.

        Raises:
            ConfigError: Environments are also given by ``env=`` or ``envs=``, or there is a space
                beside a ``=``.
        """
        if any(word.startswith("=") for word in words):
            raise ConfigError("Write KEY=VALUE without spaces around '='.")
        others = [word for word in words if "=" in word or word[:1] == "~"]
        ids = [word for word in words if word not in others]
        if ids and self.subject and not any(one.startswith(f"{self.subject}=") for one in others):
            others.insert(0, f"{self.subject}={ids.pop(0)}")
        if not ids:
            return others
        if any(re.match(r"\+*envs?[=@]", word) for word in others):
            raise ConfigError(
                f"Environments are given twice: as {' '.join(ids)}, and by env= or envs=. Choose "
                "one."
            )
        if len(ids) == 1 and not {"*", "?"} & set(ids[0]):
            return [f"env={ids[0].replace(':', '/', 1)}", *others]
        return [f"envs={_in_grammar(ids)}", *others]

    def _read(self, words: Iterable[str]) -> list[Word]:
        read = [(word, _parsed(word)) for word in words]
        found = [one for _, one in read if one is not None]
        for word, one in read:
            if one is None:
                raise self._unreadable(word, found)
        return found

    def _with_further(self, words: list[Word]) -> list[Word]:
        """Return the words after those of the suite, which they replace, and of the command."""
        suites = [word.text or "" for word in words if word.key == "suite"]
        words = [word for word in words if word.key != "suite"]
        values = {word.name: word.text or "" for word in words}
        more = [*_words_of_suites(suites, values)]
        more = [one for one in more if one.partition("=")[0] in self.keys]
        more += self.further(values) if self.further is not None else ()
        more = [one for one in more if one.partition("=")[0].lstrip("+") not in values]
        return [*self._read(more), *words]

    def _in_mapping(self, word: Word) -> Word:
        """Return a word that may add a key to a mapping, or that sets the mapping's id."""
        parts = word.key.split(".")
        places = (".".join(parts[:end]) for end in range(1, len(parts) + 1))
        place = next((one for one in places if self._is_mapping(one)), None)
        if place is None or word.sign or word.package is not None:
            return word
        if word.key != place or isinstance(word.value, dict):
            return replace(word, sign="++")
        default = self.fields[place].default if place in self.fields else None
        has_id = isinstance(default, Mapping) and "id" in default
        return replace(word, key=f"{place}.id") if has_id and word.value is not None else word

    def _is_mapping(self, name: str) -> bool:
        """Return whether a key is a mapping without keys of its own, or may be one."""
        if name in self.groups or name not in self.fields:
            return name in ("mixture", "tool_use")
        annotation = self.fields[name].annotation
        return any(typing.get_origin(one) is dict for one in alternatives(annotation))

    def _check_keys(self, words: Iterable[Word]) -> None:
        """Check the names of keys, in parts of the configuration too if they are not added."""
        nested = [one for one in self.fields if "." in one and one.split(".")[0] not in self.groups]
        for word in words:
            top = word.key.partition(".")[0]
            if top.partition("/")[0] not in self.keys:
                inner = [repr(one) for one in nested if one.rpartition(".")[2] == top]
                near = f" Did you mean {' or '.join(inner)}?" if inner else ""
                near = near or near_names(top, self.keys)
                more = near or f" A parameter of the environment is env.{top}=VALUE."
                raise ConfigError(f"There is no key {top!r}.{more}")
            its = [one.removeprefix(f"{top}.") for one in nested if one.startswith(f"{top}.")]
            is_known = any(f"{word.key}.".startswith(f"{one}.") for one in nested)
            if its and top != word.key and not word.sign and not is_known:
                near = near_names(word.key.removeprefix(f"{top}."), its)
                raise ConfigError(
                    f"There is no key {word.key!r}.{near} {top} has: {', '.join(its)}."
                )

    def chosen(self, words: Iterable[Word]) -> dict[str, Spec]:
        """Return the specs that the words choose, by their places in the configuration.

        Raises:
            ConfigError: A value is not an id, an id is there twice, or parameters are set of which
                no spec is chosen.
            UnknownIdError: There is no such spec.
        """
        words = list(words)
        found: dict[str, Spec] = {}
        for word in words:
            is_choice = word.key in self.groups and word.sign != "~"
            if is_choice and not isinstance(word.value, dict):
                found |= _placed(word, self.groups[word.key].kind)
        for name, group in self.groups.items():
            its = [word for word in words if word.key.startswith(f"{name}.")]
            if its and not any(word.name == name for word in words):
                specs = [default_registry().find(group.kind, one) for one in group.default]
                found |= {_place(name, group.kind, spec): spec for spec in specs}
                if not specs and not any(word.key == name for word in words):
                    _check_own(its, group)
        return found

    def places(self, words: Sequence[str], key: str) -> Iterator[tuple[str, Spec]]:
        """Yield the spec that a key may belong to, with its place, while words are being typed."""
        if "." not in key:
            return
        chosen: dict[str, Spec] = {}
        with contextlib.suppress(GemError):
            read = map(_parsed, [*self._with_keys(words), f"{key}_=_"])
            chosen = self.chosen(filter(None, read))
        agents = [place for place in chosen if place.startswith("agent.")]
        for place, spec in chosen.items():
            if key.startswith(f"{place}.") or place.startswith(key):
                yield place, spec
            if [place] == agents and key.startswith("agent."):
                yield "agent", spec

    def _check_parameter(self, word: Word, chosen: Mapping[str, Spec]) -> None:
        """Check a word that sets a parameter of a chosen spec."""
        place, spec, name = parameter_of(word.key, chosen)
        if spec is None or word.package is not None:
            return
        others = self.groups[place].keys if place in self.groups else ()
        if name in others or (name == "weight" and place.startswith("mixture.")):
            return
        try:
            check_kwargs(spec.load(), [name], f"{spec.kind} {spec.id!r}")
        except UnknownKwargError as error:
            if not others:
                raise
            near = near_names(name, others)
            raise UnknownKwargError(
                f"{error} Other keys in the same place:{near} {', '.join(others)}."
            ) from None

    def _check_text(self, word: Word, chosen: Mapping[str, Spec]) -> None:
        """Check that a number is not given to a parameter that takes texts.

        Integers are allowed for the command's own keys, which read them as texts.
        """
        place, spec, name = parameter_of(word.key, chosen)
        if not isinstance(word.value, bool | float | (int if spec else bool)):
            return
        wanted = self.fields[word.key].annotation if word.key in self.fields else None
        if spec is not None and word.key == f"{place}.{name}":
            wanted = parameter_types(spec.load()).get(name)
        if set(alternatives(wanted)) - {types.NoneType} == {str}:
            raise ConfigError(
                f"{word.key} takes a text. Numbers, true and false need quotes within the quotes "
                f"of the shell:{self._as_text(word.key, word.text or '', chosen)}"
            )

    def _unreadable(self, word: str, others: Iterable[Word]) -> ConfigError:
        """Return the error of a word that cannot be parsed."""
        key, _, text = word.partition("=")
        if HIDDEN in text:
            return ConfigError(
                f"The value of {key!r} was not recorded, as it is secret. Give it again."
            )
        chosen: dict[str, Spec] = {}
        with contextlib.suppress(GemError):
            chosen = self.chosen([*others, *filter(None, [_parsed(f"{key}=x")])])
        brackets = " Are all brackets and quotes closed?" if text[:1] in tuple("[{('\"") else ""
        return ConfigError(
            f"The value of {key!r} cannot be parsed.{brackets} A text with special characters "
            f"needs quotes within the quotes of the shell:{self._as_text(key, text, chosen)}"
        )

    def _several_values(self, word: Word, chosen: Mapping[str, Spec]) -> ConfigError:
        text, is_choice = word.text or "", word.key in self.groups
        listed = text if is_choice or self._can_show(word.name, text, chosen) else "..."
        as_list = shlex.quote(f"{word.name}=[{listed}]")
        advice = f"Add -m to run once for each, or write {as_list} for a list."
        if not is_choice:
            advice += " A text needs quotes within the quotes of the shell:"
            advice += self._as_text(word.name, text, chosen)
        return ConfigError(f"{word.name} has several values. {advice}")

    def _as_text(self, key: str, text: str, chosen: Mapping[str, Spec]) -> str:
        """Return a line with what to type in a shell so that a value is read as a text."""
        shown = text if self._can_show(key, text, chosen) else "..."
        return "\n  " + shlex.quote(f"{key}={QuotedString(shown, Quote.double).with_quotes()}")

    def _can_show(self, key: str, text: str, chosen: Mapping[str, Spec]) -> bool:
        """Return whether a message may have a value: it is short, and known not to be secret."""
        name = _full_name(key.lstrip("+"), chosen)
        _, spec, _ = parameter_of(name, chosen)
        if len(text) > _LONGEST_SHOWN or text[:1] in tuple("[{"):
            return False
        if spec is None and name not in self.fields:
            return False
        config: dict[str, Any] = {}
        for place, one in chosen.items():
            inner = config
            for part in place.split("."):
                inner = inner.setdefault(part, {})
            inner["id"] = one.id
        word = f"{name}={QuotedString(text, Quote.double).with_quotes()}"
        return redact_words([word], config) == [word]


def _check_own(words: Iterable[Word], group: Group) -> None:
    """Check words that belong to a group of which nothing is chosen."""
    for word in words:
        name, parameter, *_ = word.key.split(".")
        if not word.sign and parameter not in group.keys:
            several = "; with several, 'envs=[{id: ID, NAME: VALUE}, ID]'" if name == "env" else ""
            raise ConfigError(f"{word.key} needs {name}=ID{several}.")


def parameter_of(key: str, chosen: Mapping[str, Spec]) -> tuple[str, Spec | None, str]:
    """Return the place and the spec that a key belongs to, and the parameter; None if none."""
    place = next((one for one in chosen if key.startswith(f"{one}.")), "")
    return place, chosen.get(place), key.removeprefix(f"{place}.").partition(".")[0]


def _words_of_suites(ids: Sequence[str], values: Collection[str]) -> Iterator[str]:
    """Yield the settings of a suite as words.

    Raises:
        ConfigError: Environments are also given in another way, or two suites are given.
        UnknownIdError: There is no such suite.
    """
    if not ids:
        return
    if len(ids) > 1 or any(key.startswith(("env", "mixture")) for key in values):
        raise ConfigError(
            "Environments are given twice: a suite has its own. Choose one suite=, or the "
            "environments without a suite."
        )
    suite: Suite = default_registry().find(SUITES, ids[0]).make()
    for key, value in {"envs": list(suite.envs), **suite.settings}.items():
        yield f"{key}={_in_grammar(value)}"


def _in_grammar(value: Any) -> str:
    """Return a value in Hydra's grammar, with its texts in quotes."""
    if isinstance(value, str):
        return QuotedString(value, Quote.single).with_quotes()
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}: {_in_grammar(one)}" for key, one in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ",".join(map(_in_grammar, value)) + "]"
    return typed(value)


def _placed(word: Word, kind: Kind[Any]) -> dict[str, Spec]:
    """Return the specs that a word chooses, by place; none for a choice that a sweep makes."""
    specs = [default_registry().find(kind, one) for one in _ids(word)]
    if not kind.several or word.package is not None:
        return {word.package or word.key: specs[0]} if len(specs) == 1 else {}
    return {_place(word.key, kind, spec): spec for spec in specs}


def _place(name: str, kind: Kind[Any], spec: Spec) -> str:
    return f"{name}.{option_key(spec.id)}" if kind.several else name


def _ids(word: Word) -> list[str]:
    """Return the ids that a word chooses."""
    choices = word.value.list if isinstance(word.value, ChoiceSweep) else [word.value]
    found = [_unquoted(one) for choice in choices for one in _listed(choice)]
    if any(isinstance(one, dict | list) for one in found):
        raise ConfigError(
            f"{word.key}= takes ids, such as {word.key}=[A,B]; got {word}. Parameters are "
            f"{word.key}.NAME=VALUE, or {word.key}.A.NAME=VALUE for one of several."
        )
    if word.key == "agent" and None in found:
        raise ConfigError(f"{word}: null is not an agent. The agent that says nothing is 'silent'.")
    ids = [str(one) for one in found if isinstance(one, str | int | float)]
    plain = [one.replace("/", ":", 1) for one in ids]
    twice = next((one for index, one in enumerate(plain) if one in plain[:index]), None)
    if isinstance(word.value, list) and twice is not None:
        raise ConfigError(f"{word}: {twice!r} is there twice; name it once.")
    return ids


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _unquoted(value: Any) -> Any:
    return value.text if isinstance(value, QuotedString) else value


def _with_full_names(words: Iterable[Word], chosen: Mapping[str, Spec]) -> list[Word]:
    """Return the words in which parameters of the only agent have its name."""
    return [replace(word, key=_full_name(word.key, chosen)) for word in words]


def _full_name(key: str, chosen: Mapping[str, Spec]) -> str:
    """Return ``agent.ID.NAME`` for ``agent.NAME`` if there is one agent without a name given."""
    agents = [(place, one) for place, one in chosen.items() if place.startswith("agent.")]
    if len(agents) != 1 or not key.startswith("agent."):
        return key
    place, spec = agents[0]
    is_named = place != f"agent.{option_key(spec.id)}" or f"{key}.".startswith(f"{place}.")
    return key if is_named else key.replace("agent.", f"{place}.", 1)


def alternatives(annotation: Any) -> Iterator[Any]:
    """Yield the types that a union, or an annotated type, consists of."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        for one in typing.get_args(annotation):
            yield from alternatives(one)
    elif typing.get_origin(annotation) is typing.Annotated:
        yield from alternatives(typing.get_args(annotation)[0])
    else:
        yield annotation

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
``agent.system=@FILE``        ``agent.system="..."``, with the text of the file
============================  =====================================================================

Everything else is read by Hydra as it was typed. Its parser reads each word here too, since Hydra
would not suggest near names or say how a value is quoted.
"""

import contextlib
import re
import shlex
import types
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hydra.core.override_parser.types import Quote, QuotedString
from pydantic.fields import FieldInfo

from gem_core.errors import ConfigError, GemError, near_names
from gem_core.plugins import default_registry
from gem_rollout.commands.chosen import NAMED, Chosen, Group, Word, parsed
from gem_rollout.commands.suites import SUITES, Suite
from gem_rollout.records.redaction import HIDDEN, redact_words, typed

__all__ = ["Grammar", "alternatives"]

_LONGEST_SHOWN = 500
"""Characters of a value that a message repeats."""
_QUOTE = "needs quotes within the quotes of the shell:"
_QUOTED = re.compile(
    r"""(?P<quote>["'])(?P<text>(?:\\.|(?!(?P=quote)).)*)(?P=quote)(?P<colon>\s*:)?"""
)
"""A text in quotes, and the colon after it if it is a key."""
_SPECIAL = re.compile(r"[\\()\[\]{}:=, \t]")
"""The characters that Hydra reads in a key if there is a backslash before each."""
_CUT = re.compile(r"(?P<rest>[\w.-]+):\s*(?P<weight>-?[\d.]+)")
"""The rest of a key with a colon, and a number, which Hydra reads as one text."""
_INTERPOLATION = re.compile(r"(\\*)\$\{")
"""The beginning of an interpolation of Hydra, with the backslashes before it."""


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
        recorded: The configuration of the run that the command repeats.
    """

    keys: Collection[str]
    groups: Mapping[str, Group]
    fields: Mapping[str, FieldInfo] = field(default_factory=dict)
    subject: str = ""
    further: Callable[[Mapping[str, str]], Iterable[str]] | None = None
    recorded: Mapping[str, Any] = field(default_factory=dict)

    def overrides(
        self, words: Sequence[str], *, is_sweep: bool = False, is_own: bool = False
    ) -> list[str]:
        """Return the overrides that Hydra is to read.

        Args:
            words: What was typed.
            is_sweep: Whether a key may have several values.
            is_own: Whether the configuration is the user's own, whose keys are not known.

        Raises:
            ConfigError: A word cannot be parsed, a file cannot be read, a key does not exist,
                environments are given in two ways, or something else is given where a text is
                wanted.
            UnknownIdError: There is no such environment, agent, tool, wrapper or option of a group.
            UnknownKwargError: An environment, an agent or an option does not take the parameter.
        """
        words = [_with_text_of_file(word) for word in self._with_keys(words)]
        read = self._with_further(self._read(words))
        read = [self._in_mapping(word) for word in read]
        if is_own:
            return [*map(str, read)]
        self._check_keys(read)
        chosen = Chosen.by(read, self.groups, self._kept(read))
        read = [replace(word, key=chosen.full_name(word.key)) for word in read]
        is_sweep = is_sweep or any(word.key == "hydra.mode" for word in read)
        for word in read:
            if word.package is None:
                chosen.check(word.key, self.groups)
            self._check_text(word, chosen)
            if word.is_list and not is_sweep:
                raise self._several_values(word, chosen)
        return [*map(str, read)]

    def repeating(self, recorded: Mapping[str, Any]) -> "Grammar":
        """Return the grammar of a command that repeats a run, so that nothing has a default.

        Args:
            recorded: The run's configuration.
        """
        groups = {name: replace(group, default=()) for name, group in self.groups.items()}
        return replace(self, groups=groups, recorded=recorded)

    def kept(self, overrides: Iterable[str]) -> dict[str, Any]:
        """Return the configuration of the run that is repeated, without what is chosen anew.

        A word such as ``agent=ID`` replaces all agents, and one that chooses environments all
        environments.
        """
        return self._kept(filter(None, map(parsed, overrides)))

    def _kept(self, words: Iterable[Word]) -> dict[str, Any]:
        whole = {word.key for word in words if word.package is None and word.sign != "~"}
        envs = {"env", *NAMED}
        replaced = (whole & {*self.groups}) | (envs if whole & envs else set())
        return {key: value for key, value in self.recorded.items() if key not in replaced}

    def places(self, words: Sequence[str], key: str) -> Chosen:
        """Return what is chosen so far where a key belongs to, while words are being typed."""
        if "." in key:
            with contextlib.suppress(GemError):
                read = map(parsed, [*self._with_keys(words), f"{key}_=_"])
                return Chosen.by([*filter(None, read)], self.groups)
        return Chosen({})

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
            given = " ".join(ids)
            raise ConfigError(
                f"Environments are given twice: as {given}, and by env= or envs=. Choose one."
            )
        if len(ids) == 1 and not {"*", "?"} & set(ids[0]):
            return [f"env={_option(ids[0])}", *others]
        return [f"envs={_in_grammar(ids)}", *others]

    def _read(self, words: Iterable[str]) -> list[Word]:
        read = [(word, parsed(word) or parsed(_with_plain_keys(word))) for word in words]
        found = [one for _, one in read if one is not None]
        for word, one in read:
            if one is None:
                raise self._unreadable(word, found)
            _check_colons(one)
        return found

    def _with_further(self, words: list[Word]) -> list[Word]:
        """Return the words after those of the suite, which they replace, and of the command."""
        suites = [word.text[1:] for word in words if word.key == "suite"]
        words = [word for word in words if word.key != "suite"]
        values = {word.name: word.text[1:] for word in words}
        more = [*_words_of_suite(suites, values)]
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
                agents = f", one of the agent agent.{top}=VALUE" if "agent" in self.keys else ""
                more = near or f" A parameter of the environment is env.{top}=VALUE{agents}."
                raise ConfigError(f"There is no key {top!r}.{more}")
            its = [one.removeprefix(f"{top}.") for one in nested if one.startswith(f"{top}.")]
            is_known = any(f"{word.key}.".startswith(f"{one}.") for one in nested)
            if its and top != word.key and not word.sign and not is_known:
                near = near_names(word.key.removeprefix(f"{top}."), its)
                names = ", ".join(its)
                raise ConfigError(f"There is no key {word.key!r}.{near} {top} has: {names}.")

    def _check_text(self, word: Word, chosen: Chosen) -> None:
        """Check that a number or a list is not given where a text is wanted.

        Integers are allowed for the command's own keys, which read them as texts.
        """
        is_own = word.key in self.fields and chosen.of(word.key)[1] is None
        is_whole = type(word.value) is int
        if (is_own and is_whole) or not isinstance(word.value, bool | int | float | list | dict):
            return
        if set(alternatives(self.type_of(word.key, chosen))) - {types.NoneType} == {str}:
            raise ConfigError(
                f"{word.key} takes a text. What reads as a number, a list, true or false {_QUOTE}"
                + self._as_text(word.key, word.text[1:], chosen)
            )

    def type_of(self, key: str, chosen: Chosen) -> Any:
        """Return the type of a key or of a parameter; None if it is not known."""
        found = chosen.type_of(key)
        return self.fields[key].annotation if found is None and key in self.fields else found

    def _unreadable(self, word: str, others: list[Word]) -> ConfigError:
        """Return the error of a word that cannot be parsed."""
        key, _, text = word.partition("=")
        if HIDDEN in text:
            return ConfigError(
                f"The value of {key!r} was not recorded, as it is secret. Give it again."
            )
        if ":" in key:
            place = key[: key.index(":")].rpartition(".")[0]
            raise _colon(place, key.removeprefix(f"{place}."))
        chosen = Chosen({})
        with contextlib.suppress(GemError):
            chosen = Chosen.by([*others, *filter(None, [parsed(f"{key}=x")])], self.groups)
        is_open = text[:1] in tuple("[{('\"")  # what is within may be secret
        closed = " Are all brackets and quotes closed?" if is_open else ""
        return ConfigError(
            f"The value of {key!r} cannot be parsed.{closed} A text with special characters "
            f"{_QUOTE}{self._as_text(key, '...' if is_open else text, chosen)}"
        )

    def _several_values(self, word: Word, chosen: Chosen) -> ConfigError:
        annotation = self.type_of(word.key, chosen)
        known = () if annotation is None else [*alternatives(annotation)]
        is_choice, text = word.key in self.groups, word.text[1:]
        advice = ""
        if is_choice or not known or any(map(typing.get_origin, known)):
            listed = text if is_choice or self._can_show(word.name, text, chosen) else "..."
            advice += f", or write {shlex.quote(f'{word.name}=[{listed}]')} for a list"
        advice += "."
        if not is_choice and (not known or str in known):
            advice += f" A text {_QUOTE}{self._as_text(word.name, text, chosen)}"
        return ConfigError(f"{word.name} has several values. Add -m to run once for each{advice}")

    def _as_text(self, key: str, text: str, chosen: Chosen) -> str:
        """Return a line with what to type in a shell so that a value is read as a text."""
        shown = text if self._can_show(key, text, chosen) else "..."
        return "\n  " + shlex.quote(f"{key}={QuotedString(shown, Quote.double).with_quotes()}")

    def _can_show(self, key: str, text: str, chosen: Chosen) -> bool:
        """Return whether a message may have a value: it is short, and known not to be secret."""
        name = chosen.full_name(key.lstrip("+"))
        is_known = name in self.fields or chosen.of(name)[1] is not None
        word = f"{name}={QuotedString(text, Quote.double).with_quotes()}"
        is_short = len(text) <= _LONGEST_SHOWN
        return is_short and is_known and redact_words([word], chosen.config()) == [word]


def _with_text_of_file(word: str) -> str:
    """Return ``KEY="TEXT"`` for ``KEY=@FILE``; any other word unchanged.

    The text ends before the line breaks at its end. A value in quotes may begin with ``@``.
    """
    key, _, value = word.partition("=")
    if value[:1] != "@":
        return word
    try:
        text = Path(value[1:]).read_text("utf-8").rstrip("\r\n")
    except (OSError, ValueError) as error:
        reason = "it is not text in UTF-8" if isinstance(error, ValueError) else error.strerror
        quoted = shlex.quote(f'{key}="{value}"')
        raise ConfigError(
            f"{key}: the file {value[1:]!r} cannot be read: {reason}. A text that begins with @ "
            f"needs quotes: {quoted}"
        ) from error
    plain = _INTERPOLATION.sub(lambda found: found[1] * 2 + "\\${", text)
    return f"{key}={QuotedString(plain, Quote.double).with_quotes()}"


def _with_plain_keys(word: str) -> str:
    """Return a word in which the keys of mappings have no quotes, which Hydra does not read."""

    def plain(found: re.Match[str]) -> str:
        text, colon = found["text"], found["colon"]
        return found[0] if colon is None else _SPECIAL.sub(r"\\\g<0>", text) + colon

    return _QUOTED.sub(plain, word)


def _check_colons(word: Word) -> None:
    """Check that no key of a mapping was cut at a colon, as in ``{zeta:short: 0.5}``."""
    for key, value in word.value.items() if isinstance(word.value, dict) else ():
        if isinstance(value, str) and (found := _CUT.fullmatch(value)):
            raise _colon(word.name, f"{key}:{found['rest']}", found["weight"])


def _colon(place: str, key: str, value: str = "0.5") -> ConfigError:
    typed_so = shlex.quote(f'{place}={{"{key}": {value}}}')
    return ConfigError(f"The key {key!r} has a colon, so it {_QUOTE}\n  {typed_so}")


def _words_of_suite(ids: Sequence[str], values: Collection[str]) -> Iterator[str]:
    """Yield the environments and settings of a suite as words.

    Raises:
        ConfigError: Environments are also given in another way, or two suites are given.
        UnknownIdError: There is no such suite.
    """
    if len(ids) > 1 or (ids and any(key.startswith(("env", "mixture")) for key in values)):
        raise ConfigError(
            "Environments are given twice: a suite has its own. Choose one suite=, or the "
            "environments without a suite."
        )
    for one in ids:
        suite: Suite = default_registry().find(SUITES, one).make()
        for key, value in {"envs": list(suite.envs), **suite.settings}.items():
            yield f"{key}={_in_grammar(value)}"


def _option(env_id: str) -> str:
    """Return an id as an option of Hydra; in quotes if Hydra would not read the path of a file."""
    if "/" not in env_id.partition(":")[0]:
        return env_id.replace(":", "/", 1)
    return env_id if parsed(f"env={env_id}") else _in_grammar(env_id)


def _in_grammar(value: Any) -> str:
    """Return a value in Hydra's grammar, with its texts in quotes."""
    if isinstance(value, str):
        return QuotedString(value, Quote.single).with_quotes()
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}: {_in_grammar(one)}" for key, one in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ",".join(map(_in_grammar, value)) + "]"
    return typed(value)


def alternatives(annotation: Any) -> Iterator[Any]:
    """Yield the types that a union, or an annotated type, consists of."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        for one in typing.get_args(annotation):
            yield from alternatives(one)
    elif typing.get_origin(annotation) is typing.Annotated:
        yield from alternatives(typing.get_args(annotation)[0])
    else:
        yield annotation

"""Masks secrets where a configuration or a command line is written or printed, and nowhere else.

A value is secret if it is that of a parameter whose type is ``gem_core.Secret`` (or pydantic's
``SecretStr``), or, for parts that declare nothing, if the whole words of its key say so:
``api_key`` and ``authToken`` do, ``turkey``, ``max_tokens`` and ``api_key_env`` do not. In a URL,
the userinfo and query parameters with such a name are secret too. The text of a value is never
searched for anything else. docs/rollouts.md has the rules.
"""

import contextlib
import fnmatch
import functools
import glob
import json
import re
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple

import pydantic

from gem_core.config import parameter_types
from gem_core.errors import GemError
from gem_core.modules import is_imported
from gem_core.plugins import default_registry
from gem_core.secret import SecretParts
from gem_core.specs import ENVS, Spec, load_entry_point

__all__ = [
    "HIDDEN",
    "declared_by",
    "hide",
    "redact",
    "redact_words",
    "remembered",
    "secrets_in",
    "typed",
    "with_hidden",
]

HIDDEN = "(hidden)"
_SHORTEST = 8
"""A secret with fewer characters stays in messages, where it may be an ordinary word."""

_SECRET = re.compile(
    r"(?:^|_)(?:password|passwd|secret|credentials?|authorization)(?:_|$)"
    r"|(?:^|_)(?:token|cookie|apikey|(?:api|access|private|secret|auth|encryption|signing)_key)$"
)
_HARMLESS = re.compile(
    r"(?:^|_)(?:env|var|name|file|path|dir|folder|url|ids?|count|limit|length|size|max|min"
    r"|(?:eos|bos|pad|unk|sep|cls|mask|stop|start|end|image|video|audio|per|max|min)_token)$"
)
"""Keys that have the word, and hold no secret; their words are joined by ``_``."""
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

_FLAG = re.compile(r"--?[A-Za-z][\w.-]*")
_KEY = re.compile(r"[+~]*\w[\w.@/-]*")
_ARGUMENT = re.compile(r"(-{0,2}[A-Za-z][\w.-]*)(=|:\s*)(.+)", re.DOTALL)
_URL = re.compile(r"\b([a-z][a-z0-9+.-]{0,20}://)([^\s/?#'\"<>]*)([^\s'\"<>]*)", re.IGNORECASE)
_QUERY = re.compile(r"([?&#;])([^=&#;]+)=([^&#;]*)")
_INTERPOLATION = re.compile(r"\$\{[\w.:]+\}")


def _sounds_secret(name: str) -> bool:
    """Return whether the words of a key say that its value is secret."""
    words = re.sub(r"[\d_.-]+", "_", _HUMP.sub("_", name)).strip("_").lower()
    return bool(_SECRET.search(words)) and not _HARMLESS.search(words)


class _Rules(NamedTuple):
    """The rules for secrets in a part of a configuration.

    Args:
        is_secret: Whether every value of the part is secret.
        keys: Keys whose values are secret at any depth.
        types: The types of the keys, if it is not a part with an id.
    """

    is_secret: bool = False
    keys: frozenset[str] = frozenset()
    types: Mapping[str, Any] = {}

    def at(self, part: Mapping[Any, Any]) -> "_Rules":
        """Return these rules with the types of a mapping."""
        return self._replace(types={**self.types, **_types_of_part(part)})

    def below(self, key: str, value: Any) -> "_Rules":
        """Return the rules for the value of a key of the mapping."""
        # The name that a user gives a part, such as agent.secret_agent, says nothing.
        is_part = isinstance(value, Mapping) and isinstance(value.get("id"), str)
        if self.is_secret or key in self.keys or (_sounds_secret(key) and not is_part):
            return _Rules(is_secret=True)
        declared = list(_declared(self.types.get(key)))
        return _Rules(
            is_secret=any(not one.keys for one in declared),
            keys=self.keys.union(*(one.keys for one in declared)),
            types=_types_of(self.types.get(key)),
        )


def _declared(annotation: Any) -> Iterator[SecretParts]:
    """Yield the secret parts that a type declares, anywhere within it."""
    if isinstance(annotation, SecretParts):
        yield annotation
    elif annotation is pydantic.SecretStr:
        yield SecretParts()
    for inner in typing.get_args(annotation):
        yield from _declared(inner)


def _types_of_part(part: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the types of the parameters of a part with an id; empty if they cannot be found."""
    part_id, found = part.get("id"), dict[str, Any]()
    for load in _loaders(part_id) if isinstance(part_id, str) else ():
        with contextlib.suppress(GemError):  # whoever makes the part reports it
            target = load()
            found |= _types_of(target) or parameter_types(target)
    return found


def _loaders(part_id: str) -> Iterator[Callable[[], Any]]:
    """Yield functions that import the components with an id, or the object ``module:NAME``."""
    specs: Sequence[Spec] = ()
    with contextlib.suppress(GemError):
        registry, is_pattern = default_registry(), not {"*", "?"}.isdisjoint(part_id)
        specs = [*registry.list(ENVS, part_id)] if is_pattern else registry.named(part_id)
    yield from (spec.load for spec in specs)
    if not specs and is_imported(part_id.rpartition(":")[0]):
        yield functools.partial(load_entry_point, part_id)


def _types_of(model: Any) -> dict[str, Any]:
    """Return the types of a pydantic model's fields; empty for anything else."""
    if not (isinstance(model, type) and issubclass(model, pydantic.BaseModel)):
        return {}
    with contextlib.suppress(Exception):  # annotations may name what cannot be imported
        return typing.get_type_hints(model, include_extras=True)
    return {}


_command: ContextVar[type[pydantic.BaseModel] | None] = ContextVar("command", default=None)
_known: ContextVar[frozenset[str]] = ContextVar("known", default=frozenset())


def _root() -> _Rules:
    """Return the rules for a whole configuration."""
    return _Rules(types=_types_of(_command.get()))


class _Redactor:
    """Replaces secrets in plain data, and collects them.

    Args:
        text_keys: Whether all keys become strings, as in JSON.
    """

    def __init__(self, *, text_keys: bool = False) -> None:
        self.found: set[str] = set()
        self._text_keys = text_keys

    def value(self, value: Any, rules: _Rules) -> Any:
        """Return a value without secrets."""
        if isinstance(value, Mapping):
            here = rules.at(value)
            return {
                str(key) if self._text_keys else key: self.value(item, here.below(str(key), item))
                for key, item in value.items()
            }
        if isinstance(value, list | tuple):
            pairs = zip(["", *value], value, strict=False)
            return [self._item(previous, item, rules) for previous, item in pairs]
        if rules.is_secret:
            return self._hide(value)
        return self._text(value) if isinstance(value, str) else value

    def _item(self, previous: Any, item: Any, rules: _Rules) -> Any:
        """Return an item of a list, which may be an argument of a program, given the one before."""
        if rules.is_secret or not isinstance(item, str):
            return self.value(item, rules)
        follows_flag = isinstance(previous, str) and bool(_FLAG.fullmatch(previous))
        if follows_flag and _sounds_secret(previous):
            return self._hide(item)
        found = _ARGUMENT.fullmatch(item)
        if found and _sounds_secret(found[1]):
            is_assigned = found[2] == "=" and not re.search(r"\s", item)
            if is_assigned or follows_flag or item[0] == "-":
                return f"{found[1]}{found[2]}{self._hide(found[3])}"
        return self._text(item)

    def words(self, words: Iterable[str], config: Mapping[str, Any]) -> list[str]:
        """Return the words of a command line without secrets, given the configuration."""
        words = list(words)
        pairs = zip(["", *words], words, strict=False)
        return [self._word(previous, word, config) for previous, word in pairs]

    def _word(self, previous: str, word: str, config: Mapping[str, Any]) -> str:
        key, equals, text = word.partition("=")
        is_value = _FLAG.fullmatch(previous) and _sounds_secret(previous)
        if is_value or not equals or not _KEY.fullmatch(key):
            return str(self._item(previous, word, _Rules()))
        rules = _rules_for(key, config)
        values = _values_of(word, text)
        shown = [self.value(value, rules) for value in values]
        return word if shown == values else f"{key}={','.join(map(typed, shown))}"

    def _text(self, text: str) -> str:
        """Return a text with the secrets of its URLs replaced."""
        return _URL.sub(self._url, text) if "://" in text else text

    def _url(self, found: re.Match[str]) -> str:
        scheme, authority, rest = found.groups()
        user, at, host = authority.rpartition("@")
        if ":" in user or scheme.lower().startswith("http"):
            user = self._hide(user)
        return scheme + user + at + host + _QUERY.sub(self._parameter, rest)

    def _parameter(self, found: re.Match[str]) -> str:
        sign, name, value = found.groups()
        return f"{sign}{name}={self._hide(value) if _sounds_secret(name) else value}"

    def _hide(self, value: Any) -> Any:
        """Return the mask of a secret; values that cannot be one stay as they are."""
        is_absent = value is None or isinstance(value, bool) or value in ("", HIDDEN)
        if is_absent or _INTERPOLATION.fullmatch(str(value)):
            return value
        self.found.add(str(value))
        return HIDDEN


def _rules_for(key: str, config: Mapping[str, Any]) -> _Rules:
    """Return the rules for an override such as ``agent.openai.api_key`` or ``env@envs.a``."""
    group, _, package = key.lstrip("+~").partition("@")
    rules, here = _root(), config
    for name in re.split(r"[./]", package or group):
        value = here.get(name)
        rules = rules.at(here).below(name, value)
        here = value if isinstance(value, Mapping) else {}
    return rules


def _values_of(word: str, text: str) -> list[Any]:
    """Return the value of an override, or those of a sweep; its text if it cannot be parsed."""
    # Only a command line pays for these imports.
    from hydra.core.override_parser.overrides_parser import OverridesParser  # noqa: PLC0415
    from hydra.core.override_parser.types import ChoiceSweep  # noqa: PLC0415
    from hydra.errors import HydraException  # noqa: PLC0415

    with contextlib.suppress(HydraException, RecursionError):
        override = OverridesParser.create().parse_override(word)
        if not override.is_sweep_override():
            return [override.value()]
        sweep = override.value()
        if isinstance(sweep, ChoiceSweep):
            return [_unquoted(choice) for choice in sweep.list]
    with contextlib.suppress(ValueError, RecursionError):
        return [json.loads(text)]
    return [text]


def _unquoted(value: Any) -> Any:
    if hasattr(value, "text"):  # a QuotedString
        return value.text
    if isinstance(value, dict):
        return {str(_unquoted(key)): _unquoted(item) for key, item in value.items()}
    return [_unquoted(item) for item in value] if isinstance(value, list) else value


def typed(value: Any) -> str:
    """Return a value as it is typed after ``KEY=``."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(typed, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}: {typed(one)}" for key, one in value.items()) + "}"
    return str(value)


def redact(config: Any, *, text_keys: bool = True) -> Any:
    """Return a configuration, or a part of one, without secrets.

    Args:
        config: Plain data.
        text_keys: Whether all keys become strings, as in JSON.
    """
    return _Redactor(text_keys=text_keys).value(config, _root())


def redact_words(words: Iterable[str], config: Mapping[str, Any] | None = None) -> list[str]:
    """Return the words of a command without secrets.

    Args:
        words: The words.
        config: The configuration that the command composes from them; without it, only the words
            themselves say what is secret.
    """
    return _Redactor().words(words, config or {})


def secrets_in(config: Any, words: Sequence[str] = ()) -> set[str]:
    """Return the texts that are hidden in a configuration and in the words of its command."""
    redactor = _Redactor()
    redactor.value(config, _root())
    redactor.words(words, config)
    return redactor.found


@contextlib.contextmanager
def declared_by(keys: type[pydantic.BaseModel]) -> Iterator[None]:
    """Let a model declare the secrets among the top-level keys of configurations."""
    token = _command.set(keys)
    try:
        yield
    finally:
        _command.reset(token)


@contextlib.contextmanager
def remembered(secrets: Iterable[str]) -> Iterator[None]:
    """Let ``hide`` replace these texts, if they are long enough."""
    token = _known.set(_known.get() | {one for one in secrets if len(one) >= _SHORTEST})
    try:
        yield
    finally:
        _known.reset(token)


def hide(message: str) -> str:
    """Return a message of a command, which may quote its configuration, without its secrets."""
    for secret in sorted(_known.get(), key=len, reverse=True):
        for quoted in (secret, repr(secret)[1:-1]):
            message = message.replace(quoted, HIDDEN)
    return message


def with_hidden(old: Any, new: Any) -> Any:
    """Return the recorded configuration of a run, with its hidden values taken from a new one.

    Earlier versions hid more than this one, also within texts. A text of the new configuration is
    taken if it is the recorded one around what was hidden.
    """
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return {key: with_hidden(one, new.get(key)) for key, one in old.items()}
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [with_hidden(*pair) for pair in zip(old, new, strict=True)]
    if old == HIDDEN:
        return old if new in (None, "") else new
    if isinstance(old, str) and isinstance(new, str) and HIDDEN in old:
        pattern = "*".join(map(glob.escape, old.split(HIDDEN)))
        return new if fnmatch.fnmatchcase(new, pattern) else old
    return old

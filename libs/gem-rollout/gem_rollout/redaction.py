"""Secrets are not written: neither into a run's folder nor into messages.

``redact`` finds secrets in a configuration by where they are and by what they look like, and puts
``(hidden)`` in their place. A value is hidden if

- its key contains a word such as ``token``, ``key``, ``secret``, ``password``, ``auth``, ``cookie``
  or ``private``, in any spelling (``API-Key``, ``apiKey``). Keys such as ``tokenizer`` and
  ``answer_key`` are known to be harmless. Booleans stay, and so do numbers of up to nine digits
  (``max_tokens``), except passwords;
- it is below ``env``, the environment variables of a server, or below ``headers``;
- it is the userinfo, the query or the fragment of a URL;
- it follows a flag such as ``--api-key`` in a list or in a line of arguments;
- it has the form of a known token: ``sk-...``, ``ghp_...``, ``hf_...``, ``AKIA...``, a JWT.

What was hidden in the configuration of a command is remembered while the command runs, so that
``hide`` also finds it in the text of an error or in a trajectory.
"""

import contextlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, QuotedString
from hydra.errors import HydraException

__all__ = [
    "HIDDEN",
    "hide",
    "hide_in_json",
    "known_secrets",
    "redact",
    "redact_words",
    "remembered",
    "secrets_in",
    "secrets_in_words",
    "typed",
]

HIDDEN = "(hidden)"

_HARMLESS = re.compile(
    r"tokeni[sz](?:er|ers|ed|e|ation|ing)|keywords?|keyboard|hotkey|keyframes?|keypoints?|monkey"
    r"|authors?(?!i)|authored|key(?:column|field)s?"
    r"|(?:answer|question|primary|foreign|sort|group|text|image|prompt|label|input|output|row"
    r"|column|solution|problem|context|reward|metric|test|function)keys?|keyenv(?:var)?s?|(?:eos|bos|pad|unk|sep|cls|mask|stop|special)tokens?"
)
"""Words that contain the name of a secret, in lower case and without separators."""
_PASSWORD = re.compile(r"secret|passw|passphrase|passcode|passkey|^pass$|pwd|credential|creds?$")
_SECRET = re.compile(
    _PASSWORD.pattern
    + r"|token|key|auth|cookie|bearer|private|jwt|webhook|dsn$|connectionstring|sess(?:ion)?id"
    r"|^session$|^(?:pw|pat|sig|otp|hmac)$|signature$"
)
_PASS = re.compile(r"(?:^|[_\-.\s]|(?<=[a-z])(?=P))[pP]ass$|(?:^|[_\-.])PASS$")
_VARIABLES = re.compile(
    r"^(?:extra|additional|default|server|process|container|docker|child|user|job|worker)?"
    r"(?:env|environ|environment|env(?:ironment)?var(?:iable)?s?|envset)$"
)
_HEADERS = re.compile(r"headers?$")
_BARE = {"key", "keys", "token", "tokens", "auth", "private", "session", "pass"}
"""Names that are also words of prose: a colon after them does not make them a key."""
_PLAIN = re.compile(
    r"(?:true|false|null|none|[+-]?(?:\d{1,9}(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)", re.IGNORECASE
)

_USERINFO = re.compile(
    r"\b([a-z][a-z0-9+.-]*://)(?:[^\s/?#@'\"<>]*@)*?"
    r"((?:[^\s/?#'\"<>]+|[^\s/?#:@'\"<>]*:(?!\d+/)[^\s@'\"<>]+))@",
    re.IGNORECASE,
)
_QUERY = re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://[^\s?#'\"<>]*\?)([^\s#'\"<>]+)")
_FRAGMENT = re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://[^\s#'\"<>]*#)([^\s'\"<>]*=[^\s'\"<>]*)")
_PROXY = re.compile(r"^(?://)?([^\s:/@=]+:[^\s/@]+)@[\w.-]+(?::\d+)?(?:/.*)?$")
_SHAPES = re.compile(
    r"\bsk-(?=[\w-]*\d)[\w-]{6,}"
    r"|\b(?:gh[opsur]_|github_pat_|glpat-|xapp-|npm_|pypi-|[srp]k_(?:live|test)_|whsec_|gsk_|xai-"
    r"|nvapi-|dop_v1_|shpat_|tvly-|pplx-|jina_|r8_)(?=[\w-]*[\dA-Z])[\w-]{6,}"
    r"|\bxox[abeoprs]-[\w-]{6,}"
    r"|\bhf_(?=[A-Za-z]*[\dA-Z])[A-Za-z0-9]{6,}"
    r"|\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{8,}"
    r"|\bAIza[\w-]{16,}|\bya29\.[\w-]{8,}|\bSG\.[\w-]{8,}\.[\w-]{8,}"
    r"|\beyJ[\w-]{5,}\.[\w-]{5,}(?:\.[\w-]*)?"
    r"|(?<=hooks\.slack\.com/services/)[\w/-]+|(?<=/api/webhooks/)[\w/-]+"
    r"|\b(?:bot)?\d{8,10}:[\w-]{30,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)",
    re.DOTALL,
)
_SCHEME = re.compile(
    r"\b(bearer\s+)([\w.~+/=-]{4,})|\b((?:basic|token|digest|apikey)\s+)((?=[\w.~+/-]*[\d=])[\w.~+/=-]{8,})",
    re.IGNORECASE,
)
_VALUE = r"\"[^\"\n]*\"?|'[^'\n]*'?"
_FLAG = re.compile(rf"(?<![\w-])(--?[A-Za-z][\w.-]*)(\s*=\s*|\s+)({_VALUE}|[^\s'\"]+)")
_ASSIGNED = re.compile(
    rf"([A-Za-z_][\w.-]*)(\\*[\"']?\s*[:=]\s*\\*)((?:bearer|basic|token|digest)\s+[^\s,}}'\"]+|{_VALUE}"
    r"|[^\s,;}\])&\"'\\]+)",
    re.IGNORECASE,
)
_LINE = re.compile(r"(?i)((?:set-|proxy-)?(?:cookie2?|authorization)\s*:\s*)([^\n\"'}]+)")
_HEADER_FLAGS = {"-H", "--header", "--headers"}
_VARIABLE_FLAGS = {"-e", "--env"}
_USER_FLAGS = {"-u", "--user", "--proxy-user", "-U"}


class _Redactor:
    """Replaces secrets in plain data, and collects them."""

    def __init__(self) -> None:
        self.found: set[str] = set()

    def value(self, value: Any, key: str = "", hidden: str = "") -> Any:
        """Return a value without secrets.

        Args:
            value: Plain data.
            key: The key of the value.
            hidden: Why the whole value is secret: ``all``, ``password`` or ``key``; empty if it
                is not.
        """
        hidden = hidden or _reason(key, value)
        if isinstance(value, Mapping):
            return self._mapping(value, hidden)
        if isinstance(value, list | tuple):
            return self._items(value, hidden)
        if hidden:
            return value if _may_stay(value, hidden) else self._hide(value)
        return self.text(value) if isinstance(value, str) else value

    def words(self, words: Iterable[str]) -> list[str]:
        """Return the words of a command without secrets."""
        words = list(words)
        pairs = zip(["", *words], words, strict=False)
        return [_word(self, previous, word) for previous, word in pairs]

    def _mapping(self, value: Mapping[Any, Any], hidden: str) -> dict[str, Any]:
        shown = {}
        for name, item in value.items():
            named = _name_beside(value) if name in ("value", "val") else ""
            reason = hidden or _reason(named, "")
            shown[self.text(str(name))] = self.value(item, str(name), reason)
        return shown

    def _items(self, values: Sequence[Any], hidden: str) -> list[Any]:
        if len(values) == 2 and isinstance(values[0], str) and values[0][:1] != "-":
            return [self.value(values[0], "", hidden), self.value(values[1], values[0], hidden)]
        items: list[Any] = []
        previous = ""
        for item in values:
            shown = self.value(item, "", hidden) if hidden else self.argument(previous, item)
            items.append(shown)
            previous = item if isinstance(item, str) else ""
        return items

    def argument(self, flag: str, item: Any) -> Any:
        """Return an item of a list without secrets, given the flag before it."""
        if isinstance(item, str) and (
            own := re.match(r"(-e)([A-Z_][A-Z0-9_]*=.*)", item, re.DOTALL)
        ):
            return f"{own[1]}{self._of_flag(own[1], own[2])}"
        if isinstance(item, str) and (
            own := re.match(r"(--?[A-Za-z][\w.-]*)=(.*)", item, re.DOTALL)
        ):
            shown = self._of_flag(own[1], own[2])
            return self.value(item) if shown is None else f"{own[1]}={shown}"
        if not isinstance(item, str) or not re.fullmatch(r"--?[A-Za-z][\w.-]*", flag):
            return self.value(item)
        shown = self._of_flag(flag, item)
        return self.value(item) if shown is None else shown

    def _of_flag(self, flag: str, text: str) -> str | None:
        """Return the value of a flag without secrets; None if it is an ordinary flag."""
        if flag in _HEADER_FLAGS | _VARIABLE_FLAGS:
            name, sign, rest = text.partition(":" if flag in _HEADER_FLAGS else "=")
            return f"{name}{sign}{self._hide(rest)}" if rest.strip() else text
        reason = "all" if flag in _USER_FLAGS else _reason(flag.lstrip("-"), text)
        if not reason or _may_stay(text, reason):
            return None
        return self._hide(text)

    def text(self, text: str) -> str:
        """Return a string of a configuration without secrets."""
        text = self.message(text)
        text = _PROXY.sub(lambda match: match[0].replace(match[1], self._hide(match[1]), 1), text)
        text = _LINE.sub(lambda match: match[1] + self._hide(match[2]), text)
        text = _FLAG.sub(self._flag_in_text, text)
        return _ASSIGNED.sub(self._assigned_in_text, text)

    def message(self, text: str) -> str:
        """Return a text without what has the form of a secret."""
        text = _USERINFO.sub(lambda match: f"{match[1]}{self._hide(match[2])}@", text)
        text = _QUERY.sub(lambda match: match[1] + self._hide(match[2]), text)
        text = _FRAGMENT.sub(lambda match: match[1] + self._hide(match[2]), text)
        text = _SHAPES.sub(lambda match: self._hide(match[0]), text)
        return _SCHEME.sub(
            lambda match: (match[1] or match[3]) + self._hide(match[2] or match[4]), text
        )

    def _flag_in_text(self, match: re.Match[str]) -> str:
        flag, sign, given = match.groups()
        bare = given.strip("\"'")
        shown = self._of_flag(flag, bare)
        if shown is None or bare.startswith(HIDDEN[:-1]):
            return match[0]
        return f"{flag}{sign}{given.replace(bare, shown)}"

    def _assigned_in_text(self, match: re.Match[str]) -> str:
        key, sign, given = match.groups()
        bare = given.strip("\"'")
        before = match.string[: match.start()].rstrip()[-1:]
        is_quoted = sign[0] in "\\\"'" or before in ("{", ",")
        is_prose = ":" in sign and key.lower() in _BARE and not is_quoted
        reason = "" if is_prose else _reason(key, "")
        if bare.startswith(HIDDEN[:-1]) or not bare or not reason or _may_stay(bare, reason):
            return match[0]
        return f"{key}{sign}{given.replace(bare, self._hide(bare))}"

    def _hide(self, value: Any) -> str:
        text = str(value).strip()
        if HIDDEN[:-1] not in text:
            self.found |= {text, *re.split(r"[\s:&=;,]+", text)}
        return HIDDEN


def _name_beside(pair: Mapping[Any, Any]) -> str:
    """Return the name of a value in a mapping such as ``{name: API_KEY, value: X}``."""
    names = (pair.get(key) for key in ("name", "key", "var", "variable"))
    return next((name for name in names if isinstance(name, str)), "")


def _reason(key: str, value: Any) -> str:
    """Return why the value of a key is secret, or an empty string."""
    plain = re.sub(r"[^a-z0-9]", "", key.lower())
    if _HEADERS.search(plain):
        return "all"
    if _VARIABLES.match(plain) and _are_variables(value):
        return "all"
    plain = _HARMLESS.sub("", plain)
    if _PASSWORD.search(plain) or _PASS.search(key):
        return "password"
    return "key" if _SECRET.search(plain) else ""


def _are_variables(value: Any) -> bool:
    """Return whether the value of ``env`` is environment variables, and not an environment."""
    if isinstance(value, Mapping):
        return not isinstance(value.get("id"), str)
    return isinstance(value, list | tuple) or (isinstance(value, str) and "=" in value)


def _may_stay(value: Any, reason: str) -> bool:
    if value is None or value in ("", HIDDEN):
        return True
    if reason == "all":
        return False
    if isinstance(value, bool):
        return True
    if reason == "password":
        return str(value).lower() in ("true", "false", "null", "none")
    return _PLAIN.fullmatch(str(value)) is not None or str(value).startswith("${")


def redact(value: Any) -> Any:
    """Return plain data, such as a configuration, without secrets; keys become strings."""
    return _Redactor().value(value)


def secrets_in(value: Any) -> set[str]:
    """Return the texts that ``redact`` hides."""
    redactor = _Redactor()
    redactor.value(value)
    return redactor.found


def redact_words(words: Iterable[str]) -> list[str]:
    """Return the words of a command without secrets, also those within Hydra's dicts and lists."""
    return _Redactor().words(words)


def secrets_in_words(words: Iterable[str]) -> set[str]:
    """Return the texts that ``redact_words`` hides."""
    redactor = _Redactor()
    redactor.words(words)
    return redactor.found


def _word(redactor: _Redactor, previous: str, word: str) -> str:
    key, equals, text = word.partition("=")
    if not equals or key.startswith("-"):
        return str(redactor.argument(previous, word))
    values = _values_of(word, text)
    *parents, name = re.split(r"[.@/]", key.lstrip("+~"))
    parents = parents[1:] if parents[:1] == ["env"] else parents
    hidden = next(filter(None, (_reason(parent, {}) for parent in parents)), "")
    shown = [redactor.value(value, name, hidden) for value in values]
    if shown == values:
        return redactor.text(key) + word[len(key) :]
    return f"{redactor.text(key)}={','.join(map(typed, shown))}"


def _values_of(word: str, text: str) -> list[Any]:
    """Return the value of an override, or those of a sweep; its text if it cannot be parsed."""
    with contextlib.suppress(HydraException, RecursionError):
        override = OverridesParser.create().parse_override(word)
        if not override.is_sweep_override():
            return [override.value()]
        sweep = override.value()
        if isinstance(sweep, ChoiceSweep):
            return [_unquoted(choice) for choice in sweep.list]
    return [text]


def _unquoted(value: Any) -> Any:
    if isinstance(value, QuotedString):
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


_remembered: Counter[str] = Counter()


@contextlib.contextmanager
def remembered(secrets: Iterable[str]) -> Iterator[None]:
    """Let ``hide`` replace these texts while the context is open."""
    values = Counter({value for value in secrets if _is_distinctive(value)})
    _remembered.update(values)
    try:
        yield
    finally:
        _remembered.subtract(values)


def known_secrets() -> list[str]:
    """Return the secrets of the running commands and of the environment, the longest first."""
    environment = {
        value
        for name, value in os.environ.items()
        if _reason(name, value) and _is_distinctive(value) and not value.startswith(("/", "~"))
    }
    return sorted(environment | set(+_remembered), key=len, reverse=True)


def _is_distinctive(text: str) -> bool:
    """Return whether a secret can be told from ordinary words and numbers in a text."""
    return len(text) >= 6 and not text.isdecimal() and not (text.isalpha() and len(text) < 16)


def hide(text: str, secrets: Iterable[str] | None = None) -> str:
    """Return a message without secrets: those that are known, and what has the form of one.

    Args:
        text: The message.
        secrets: The known secrets; None for ``known_secrets()``.
    """
    for secret in known_secrets() if secrets is None else secrets:
        text = text.replace(secret, HIDDEN)
    return _Redactor().message(text)


def hide_in_json(line: bytes, secrets: Iterable[str]) -> bytes:
    """Return a line of JSON without the given secrets."""
    for secret in secrets:
        for is_ascii in (True, False):
            inner = json.dumps(secret, ensure_ascii=is_ascii)[1:-1]
            line = line.replace(inner.encode(errors="surrogatepass"), HIDDEN.encode())
    return line

"""Parsers of the text that models sample: reasoning and tool calls, piece by piece.

Text and reasoning are passed on as they come, except for an end that may begin a mark. A tool call
is passed on when it is complete, because one whose JSON is wrong is text. Any split of a text into
pieces gives the same reply.

=============  ==================================================================================
``hermes``     ``<tool_call>{"name": ..., "arguments": ...}</tool_call>``, of Hermes and Qwen
``llama``      ``<|python_tag|>{"name": ..., "parameters": ...}``, or such an object alone; of
               Llama 3, several of them separated by semicolons
``deepseek``   ``<｜tool▁calls▁begin｜>`` with calls of DeepSeek V3, R1 (a block of JSON) and V3.1
=============  ==================================================================================

Reasoning is what stands in ``<think>...</think>`` at the beginning.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gem_core.errors import ConfigError, near_names
from gem_serve.gateway.events import Arguments, Event, Reasoning, Text, ToolStart

__all__ = ["PARSERS", "Parser", "parser_of"]

Calls = list[tuple[str, str]]
"""Names and arguments of calls."""

_THINK, _THOUGHT = "<think>", "</think>"


@dataclass(frozen=True)
class _Family:
    """How a family of models writes calls.

    Args:
        begin: Marks that begin a block of calls.
        end: The mark that ends it; empty for the end of the text.
        read: Returns the calls of a block, without its marks; None if it is malformed.
        bare: What the text begins with if it is a block without a mark; empty for nothing.
    """

    begin: Sequence[str]
    end: str
    read: Callable[[str], Calls | None]
    bare: str = ""


def _object(text: str, *names: str) -> tuple[str, str] | None:
    """Return the call of a JSON object; its arguments are under one of the names."""
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return _call(found, names)


def _call(found: Any, names: Sequence[str]) -> tuple[str, str] | None:
    if not isinstance(found, dict) or not isinstance(found.get("name"), str):
        return None
    given: Any = next((found[name] for name in names if name in found), {})
    if isinstance(given, str):
        return (found["name"], given) if _is_object(given) else None
    if not isinstance(given, dict):
        return None
    return found["name"], json.dumps(given, ensure_ascii=False)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _hermes(block: str) -> Calls | None:
    call = _object(block.strip(), "arguments", "parameters")
    return None if call is None else [call]


def _llama(block: str) -> Calls | None:
    decoder, calls, at = json.JSONDecoder(), Calls(), 0
    block = block.removesuffix("<|eom_id|>").removesuffix("<|eot_id|>").strip()
    while at < len(block):
        try:
            found, at = decoder.raw_decode(block, at)
        except ValueError:
            return None
        call = _call(found, ("parameters", "arguments"))
        if call is None:
            return None
        calls.append(call)
        while at < len(block) and block[at] in "; \n\t":
            at += 1
    return calls or None


_DEEPSEEK = re.compile(
    r"\s*<｜tool▁call▁begin｜>(?P<head>.*?)<｜tool▁sep｜>(?P<rest>.*?)<｜tool▁call▁end｜>",
    re.DOTALL,
)
_FENCED = re.compile(r"(?P<name>[^\n]+)\n```json\n(?P<arguments>.*)\n```", re.DOTALL)


def _deepseek(block: str) -> Calls | None:
    calls, at = Calls(), 0
    while (found := _DEEPSEEK.match(block, at)) is not None:
        name, arguments, at = found["head"].strip(), found["rest"], found.end()
        fenced = _FENCED.fullmatch(arguments.strip())
        if name == "function" and fenced is not None:
            name, arguments = fenced["name"].strip(), fenced["arguments"]
        if not name or not _is_object(arguments):
            return None
        calls.append((name, arguments.strip()))
    return calls if calls and not block[at:].strip() else None


_FAMILIES = {
    "hermes": _Family(("<tool_call>",), "</tool_call>", _hermes),
    "llama": _Family(("<|python_tag|>",), "", _llama, bare="{"),
    "deepseek": _Family(("<｜tool▁calls▁begin｜>",), "<｜tool▁calls▁end｜>", _deepseek),
}
PARSERS = tuple(_FAMILIES)
"""The names of the families."""


def parser_of(name: str, call_id: str, *, thinks: bool = False) -> "Parser":
    """Return a parser for one reply.

    Args:
        name: The family of the model.
        call_id: The id of the call, from which those of its tool calls are made.
        thinks: Whether the prompt ends within the reasoning.

    Raises:
        ConfigError: The family is unknown.
    """
    if name not in _FAMILIES:
        raise ConfigError(
            f"There is no parser {name!r}; there are {', '.join(PARSERS)}."
            f"{near_names(name, PARSERS)}"
        )
    return Parser(_FAMILIES[name], call_id, thinks=thinks)


class Parser:
    """A parser of one reply.

    Args:
        family: How the model writes calls.
        call_id: The id of the call.
        thinks: Whether the prompt ends within the reasoning.
    """

    def __init__(self, family: _Family, call_id: str, *, thinks: bool = False) -> None:
        self._family, self._call_id = family, call_id
        self._state: Callable[[bool], list[Event] | None] = (
            self._thinking if thinks else self._start
        )
        self._rest = ""
        self._space = ""
        self._mark = ""
        self._calls = 0

    @property
    def has_calls(self) -> bool:
        """Whether there was a tool call."""
        return self._calls > 0

    def feed(self, text: str) -> list[Event]:
        """Take the next piece of the text, and return what it adds to the reply."""
        self._rest += text
        return self._run(is_last=False)

    def end(self) -> list[Event]:
        """Return the rest of the reply at the end of its text."""
        events = self._run(is_last=True)
        if self._space and not self.has_calls:
            events.append(Text(self._space))
        self._space = ""
        return events

    def _run(self, *, is_last: bool) -> list[Event]:
        """Run the states until one needs more text."""
        events: list[Event] = []
        while self._rest or is_last:
            found = self._state(is_last)
            if found is None:
                break
            events += found
        return events

    def _start(self, is_last: bool) -> list[Event] | None:  # noqa: FBT001
        """Decide what the reply begins with."""
        stripped = self._rest.lstrip()
        if not stripped and not is_last:
            return None
        if stripped.startswith(_THINK):
            self._rest = stripped[len(_THINK) :]
            self._state = self._thinking
            return []
        if not is_last and _THINK.startswith(stripped):
            return None
        return self._begin_text()

    def _begin_text(self) -> list[Event]:
        bare = self._family.bare
        self._state = self._text
        if bare and self._rest.lstrip().startswith(bare):
            self._mark, self._state = "", self._block
        return []

    def _thinking(self, is_last: bool) -> list[Event] | None:  # noqa: FBT001
        thought, mark, after = self._rest.partition(_THOUGHT)
        if mark:
            self._rest, self._state = after, self._after_thought
            return [Reasoning(thought)] if thought else []
        return self._pass_on(Reasoning, (_THOUGHT,), is_last=is_last)

    def _after_thought(self, is_last: bool) -> list[Event] | None:  # noqa: FBT001
        """Leave out the empty lines between the reasoning and the text."""
        self._rest = self._rest.lstrip()
        if not self._rest:
            return None
        return self._begin_text()

    def _text(self, is_last: bool) -> list[Event] | None:  # noqa: FBT001
        found = [(self._rest.find(one), one) for one in self._family.begin if one in self._rest]
        if not found:
            return self._pass_on(Text, self._family.begin, is_last=is_last)
        at, self._mark = min(found)
        before, self._rest = self._rest[:at], self._rest[at + len(self._mark) :]
        self._state = self._block
        return self._shown(before)

    def _block(self, is_last: bool) -> list[Event] | None:  # noqa: FBT001
        end = self._family.end
        block, mark, after = self._rest.partition(end) if end else (self._rest, "", "")
        if not mark and not is_last:
            return None
        if not mark and not self._mark and not block:
            return None
        self._rest, self._state = after, self._text
        calls = self._family.read(block)
        if calls is None:
            return self._shown(f"{self._mark}{block}{mark}")
        self._space = ""
        return [event for name, arguments in calls for event in self._tool_call(name, arguments)]

    def _tool_call(self, name: str, arguments: str) -> list[Event]:
        index, self._calls = self._calls, self._calls + 1
        return [
            ToolStart(index, f"call_{self._call_id}_{index}", name),
            Arguments(index, arguments),
        ]

    def _pass_on(
        self, kind: type[Text] | type[Reasoning], marks: Sequence[str], *, is_last: bool
    ) -> list[Event] | None:
        """Pass on the text up to an end that may begin a mark."""
        held = 0 if is_last else _held(self._rest, marks)
        text, self._rest = (
            self._rest[: len(self._rest) - held],
            self._rest[len(self._rest) - held :],
        )
        if not text:
            return None
        return self._shown(text) if kind is Text else [Reasoning(text)]

    def _shown(self, text: str) -> list[Event]:
        """Pass on text; spaces wait, as those before a tool call are left out."""
        text = self._space + text
        shown = text.rstrip()
        self._space = text[len(shown) :]
        return [Text(shown)] if shown else []


def _held(text: str, marks: Sequence[str]) -> int:
    """Return the length of the longest end of a text that begins one of the marks."""
    most = min(len(text), max(map(len, marks)) - 1)
    end = text[-most:]
    if not any(one[0] in end for one in marks):  # nearly always
        return 0
    return next(
        (n for n in range(most, 0, -1) if any(one.startswith(text[-n:]) for one in marks)), 0
    )

"""Does the prompt of each turn begin with the tokens of the turns before?

Training on several turns as one sequence needs it, and so does a server that caches prefixes. A
template can break it (by dropping what a model thought, by trimming, by writing calls anew), and
so can the tokenizer, which may merge the end of a reply with what the template puts behind it.

A conversation is rendered turn by turn. What the model sampled in a turn is the text of the reply,
as it is, with the token by which the template ends a message; a reply with ``tool_calls`` was
sampled as the template renders it behind the prompt.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from gem_agents.transcript import encode_further

__all__ = [
    "CONVERSATIONS",
    "Break",
    "Conversation",
    "Finding",
    "check_conversation",
    "check_template",
    "to_json",
]

Message = Mapping[str, Any]

_SHOWN = 8

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "add",
            "description": "Adds two numbers.",
            "parameters": {
                "type": "object",
                "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
                "required": ["a", "b"],
            },
        },
    }
]
_HERMES = '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n</tool_call>'
_CALLS = [
    {
        "id": "call00001",
        "type": "function",
        "function": {"name": "add", "arguments": {"a": 1, "b": 2}},
    }
]


@dataclass(frozen=True)
class Conversation:
    """A chat, and what it is there to show.

    Args:
        name: The kind.
        messages: The messages; those of the role ``assistant`` are the turns.
        tools: Schemas of functions, or None.
    """

    name: str
    messages: Sequence[Message]
    tools: Sequence[Mapping[str, Any]] | None = None


@dataclass(frozen=True)
class Break:
    """Where a prompt leaves what there was before.

    Args:
        turn: The turn whose prompt it is, from 2 on.
        cause: ``text``: the template renders something else. ``tokens``: it renders the same text,
            which becomes other tokens.
        position: Tokens that still agree.
        expected_ids: The tokens of before, from there.
        expected: The same as text.
        found_ids: What the prompt has there.
        found: The same as text.
    """

    turn: int
    cause: Literal["text", "tokens"]
    position: int
    expected_ids: list[int]
    expected: str
    found_ids: list[int]
    found: str


@dataclass(frozen=True)
class Finding:
    """What became of a conversation.

    Args:
        name: Its kind.
        status: ``ok``, ``breaks``, or ``refused`` if the template does not take such chats.
        turns: Turns that were rendered.
        problem: The first break.
        message: Why the template refused.
    """

    name: str
    status: Literal["ok", "breaks", "refused"]
    turns: int = 0
    problem: Break | None = None
    message: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON has them."""
        return asdict(self)


def _chat(*replies: Any, system: str = "") -> list[Message]:
    messages: list[Message] = [{"role": "system", "content": system}] if system else []
    for number, reply in enumerate(replies, start=1):
        messages.append({"role": "user", "content": f"Your guess {number} was wrong. Next?"})
        said = reply if isinstance(reply, Mapping) else {"content": reply}
        messages.append({"role": "assistant", **said})
        if said.get("tool_calls"):
            result = {"role": "tool", "tool_call_id": "call00001", "name": "add", "content": "3"}
            messages += [result, {"role": "assistant", "content": "The sum is 3."}]
        elif "<tool_call>" in said["content"]:
            messages += [
                {"role": "tool", "name": "add", "content": "3"},
                {"role": "assistant", "content": "The sum is 3."},
            ]
    return [*messages, {"role": "user", "content": "Well done."}]


def _conversations() -> Iterator[Conversation]:
    plain = [f"I guess {number}: \\boxed{{{number}}}" for number in range(1, 7)]
    for turns in range(1, 7):
        yield Conversation(f"{turns} turn{'s' * (turns > 1)}", _chat(*plain[:turns]))
    yield Conversation("system message", _chat(*plain[:3], system="You play a game."))
    yield Conversation("spaces at the end", _chat("I guess 1. ", "I guess 2.  "))
    yield Conversation("lines at the end", _chat("I guess 1.\n", "I guess 2.\n\n"))
    yield Conversation("spaces at the beginning", _chat(" I guess 1.", "\n\nI guess 2."))
    yield Conversation("empty replies", _chat("", ""))
    yield Conversation(
        "thoughts in the text", _chat("<think>\nHm.\n</think>\n\n1", "<think>\nSo.\n</think>\n\n2")
    )
    yield Conversation("code", _chat("```python\nprint(1)\n```", "    indented\n\ttab"))
    yield Conversation("other scripts", _chat("我猜是五 🙂", "Größer, naïve, ça va"))
    yield Conversation("tools told of", _chat(*plain[:3]), TOOLS)
    yield Conversation("tools and a system message", _chat(*plain[:2], system="Play."), TOOLS)
    yield Conversation("calls in the text", _chat(_HERMES, plain[1]), TOOLS)
    yield Conversation("calls as messages", _chat({"content": "", "tool_calls": _CALLS}), TOOLS)
    yield Conversation(
        "text and calls as messages",
        _chat({"content": "Let me add.", "tool_calls": _CALLS}, plain[1]),
        TOOLS,
    )


CONVERSATIONS = tuple(_conversations())
"""The kinds of conversations that are checked."""


def check_template(
    tokenizer: Any, conversations: Sequence[Conversation] = CONVERSATIONS, **variables: Any
) -> list[Finding]:
    """Check a tokenizer's chat template with conversations of many kinds.

    Args:
        tokenizer: A tokenizer of transformers with a chat template.
        conversations: The conversations.
        variables: More variables for the template, such as ``enable_thinking``.
    """
    return [check_conversation(tokenizer, one, **variables) for one in conversations]


def check_conversation(tokenizer: Any, conversation: Conversation, **variables: Any) -> Finding:
    """Check one conversation; see ``check_template``."""
    try:
        return _check(tokenizer, conversation, variables)
    except Exception as error:  # noqa: BLE001 - templates raise whatever they like
        return Finding(conversation.name, "refused", message=f"{type(error).__name__}: {error}")


def _check(tokenizer: Any, conversation: Conversation, variables: Mapping[str, Any]) -> Finding:
    def render(count: int, *, is_prompt: bool) -> str:
        text: str = tokenizer.apply_chat_template(
            list(conversation.messages[:count]),
            tools=conversation.tools,
            tokenize=False,
            add_generation_prompt=is_prompt,
            **variables,
        )
        return text

    before_text, before_ids = "", list[int]()
    turns = [i for i, m in enumerate(conversation.messages) if m["role"] == "assistant"]
    places = [*turns, len(conversation.messages)]
    for turn, place in enumerate(places, start=1):
        text = render(place, is_prompt=True)
        ids = _encode(tokenizer, text)
        if ids[: len(before_ids)] != before_ids:
            cause: Literal["text", "tokens"] = "tokens"
            if not text.startswith(before_text):
                cause = "text"
            problem = _break(tokenizer, turn, cause, before_ids, ids)
            return Finding(conversation.name, "breaks", turn, problem)
        if place < len(conversation.messages):
            whole = render(place + 1, is_prompt=False)
            said = _sampled(tokenizer, conversation.messages[place], text, whole)
            before_text, before_ids = text + said, ids + _encode_said(tokenizer, said)
    return Finding(conversation.name, "ok", len(places))


def _sampled(tokenizer: Any, message: Message, prompt: str, whole: str) -> str:
    """Return what the model wrote: the reply, and the token by which it ended.

    Args:
        tokenizer: The tokenizer.
        message: The reply.
        prompt: The prompt, rendered.
        whole: The chat with the reply, rendered.
    """
    content = message["content"]
    if message.get("tool_calls"):
        # The template decides how calls are written. What it renders behind the prompt would be
        # the reply, up to and with the end of the message.
        rest = whole[len(prompt) :] if whole.startswith(prompt) else content
        found = [(rest.rfind(end), end) for end in _ends(tokenizer) if end in rest]
        return rest[: max(found)[0] + len(max(found)[1])] if found else rest
    # Where the template trims the reply, its end is still what follows.
    tail = whole[whole.rfind(content.strip()) + len(content.strip()) :].lstrip()
    end = next((end for end in _ends(tokenizer) if tail.startswith(end)), "")
    return f"{content}{end}"


def _ends(tokenizer: Any) -> list[str]:
    """Return special tokens, the longest first."""
    added = [str(token) for token in tokenizer.get_added_vocab()]
    return sorted({*added, *tokenizer.all_special_tokens} - {""}, key=len, reverse=True)


def _encode(tokenizer: Any, text: str) -> list[int]:
    ids: list[int] = tokenizer.encode(text, add_special_tokens=False)
    return ids


def _encode_said(tokenizer: Any, said: str) -> list[int]:
    """Return the tokens of a reply, without the space that some put before what begins a text."""
    ids = encode_further(tokenizer, said)
    return ids if _text(tokenizer, ids) == said else _encode(tokenizer, said)


def _break(
    tokenizer: Any,
    turn: int,
    cause: Literal["text", "tokens"],
    before: Sequence[int],
    ids: Sequence[int],
) -> Break:
    pairs = zip(before, ids, strict=False)
    position = next((i for i, (old, new) in enumerate(pairs) if old != new), None)
    position = min(len(before), len(ids)) if position is None else position
    expected = list(before[position : position + _SHOWN])
    found = list(ids[position : position + _SHOWN])
    return Break(
        turn, cause, position, expected, _text(tokenizer, expected), found, _text(tokenizer, found)
    )


def _text(tokenizer: Any, ids: Sequence[int]) -> str:
    text: str = tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)
    return text


def to_json(findings: Sequence[Finding]) -> str:
    """Return findings as JSON."""
    return json.dumps([finding.to_dict() for finding in findings], indent=2, ensure_ascii=False)

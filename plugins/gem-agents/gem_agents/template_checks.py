"""Checks whether the prompt of each turn begins with the tokens of the earlier turns.

Training on several turns as one sequence depends on this, and so does a server that caches
prefixes. A template can break it by dropping a model's reasoning, by trimming, or by rewriting tool
calls. So can a tokenizer that merges the end of a reply with the text after it.

A conversation is rendered turn by turn. The model is assumed to sample the exact text of each reply
and the token with which the template ends a message. A reply with ``tool_calls`` is assumed to be
sampled as the template renders it after the prompt.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from gem_core.errors import ConfigError
from gem_core.wrappers.history import check_shows_tools
from gem_rollout.tokens.transcript import encode_continuation

__all__ = [
    "CONVERSATIONS",
    "Break",
    "Conversation",
    "Finding",
    "check_conversation",
    "check_template",
]

Message = Mapping[str, Any]
Status = Literal["ok", "breaks", "refused", "ignores tools"]

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
    """A chat to check.

    Args:
        name: The kind of chat.
        messages: The messages; those with the role ``assistant`` are the turns.
        tools: Function schemas, or None.
    """

    name: str
    messages: Sequence[Message]
    tools: Sequence[Mapping[str, Any]] | None = None


@dataclass(frozen=True)
class Break:
    """The place where a prompt deviates from the earlier tokens.

    Args:
        turn: The turn of the prompt, from 2 on.
        cause: ``text`` if the template renders different text; ``tokens`` if it renders the same
            text, which has different tokens.
        position: Number of tokens that agree.
        expected_ids: The earlier tokens from this position on.
        expected: Their text.
        found_ids: The tokens of the prompt from this position on.
        found: Their text.
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
    """The result for a conversation.

    Args:
        name: The kind of conversation.
        status: ``ok``, ``breaks``, ``refused`` if the template does not accept such chats, or
            ``ignores tools`` if it renders the first prompt as if there were none.
        turns: Number of turns that were rendered.
        problem: The first break.
        message: The reason why the template refused.
    """

    name: str
    status: Status
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
        "reasoning in the text", _chat("<think>\nHm.\n</think>\n\n1", "<think>\nSo.\n</think>\n\n2")
    )
    yield Conversation("code", _chat("```python\nprint(1)\n```", "    indented\n\ttab"))
    yield Conversation("other scripts", _chat("我猜是五 🙂", "Größer, naïve, ça va"))
    yield Conversation("tools", _chat(*plain[:3]), TOOLS)
    yield Conversation("tools and a system message", _chat(*plain[:2], system="Play."), TOOLS)
    yield Conversation("calls in the text", _chat(_HERMES, plain[1]), TOOLS)
    yield Conversation("calls as messages", _chat({"content": "", "tool_calls": _CALLS}), TOOLS)
    yield Conversation(
        "text and calls as messages",
        _chat({"content": "Let me add.", "tool_calls": _CALLS}, plain[1]),
        TOOLS,
    )


CONVERSATIONS = tuple(_conversations())
"""The conversations that are checked by default."""


def check_template(
    tokenizer: Any, conversations: Sequence[Conversation] = CONVERSATIONS, **variables: Any
) -> list[Finding]:
    """Check a tokenizer's chat template with several kinds of conversations.

    Args:
        tokenizer: A tokenizer of transformers with a chat template.
        conversations: The conversations.
        variables: Additional template variables, such as ``enable_thinking``.
    """
    return [check_conversation(tokenizer, one, **variables) for one in conversations]


def check_conversation(tokenizer: Any, conversation: Conversation, **variables: Any) -> Finding:
    """Check one conversation; see ``check_template``."""
    try:
        return _check(tokenizer, conversation, variables)
    except Exception as error:  # noqa: BLE001 - templates may raise any exception
        return Finding(conversation.name, "refused", message=f"{type(error).__name__}: {error}")


def _check(tokenizer: Any, conversation: Conversation, variables: Mapping[str, Any]) -> Finding:
    def render(count: int, *, is_prompt: bool, tools: Any = conversation.tools) -> str:
        text: str = tokenizer.apply_chat_template(
            list(conversation.messages[:count]),
            tools=tools,
            tokenize=False,
            add_generation_prompt=is_prompt,
            **variables,
        )
        return text

    before_text, before_ids = "", list[int]()
    turns = [i for i, m in enumerate(conversation.messages) if m["role"] == "assistant"]
    prompts = [*turns, len(conversation.messages)]
    if conversation.tools:
        try:
            check_shows_tools(
                render(prompts[0], is_prompt=True),
                lambda: render(prompts[0], is_prompt=True, tools=None),
            )
        except ConfigError:
            return Finding(conversation.name, "ignores tools", 1)
    for turn, at in enumerate(prompts, start=1):
        text = render(at, is_prompt=True)
        ids = _encode(tokenizer, text)
        if ids[: len(before_ids)] != before_ids:
            cause: Literal["text", "tokens"] = "tokens"
            if not text.startswith(before_text):
                cause = "text"
            problem = _break(tokenizer, turn, cause, before_ids, ids)
            return Finding(conversation.name, "breaks", turn, problem)
        if at < len(conversation.messages):
            whole = render(at + 1, is_prompt=False)
            reply = _sampled(tokenizer, conversation.messages[at], text, whole)
            before_text, before_ids = text + reply, ids + _encode_reply(tokenizer, reply)
    return Finding(conversation.name, "ok", len(prompts))


def _sampled(tokenizer: Any, message: Message, prompt: str, whole: str) -> str:
    """Return the text that the model sampled: the reply and the token that ended it.

    Args:
        tokenizer: The tokenizer.
        message: The reply.
        prompt: The rendered prompt.
        whole: The rendered chat with the reply.
    """
    content = message["content"]
    if message.get("tool_calls"):
        # The template decides how calls are written: the reply is the text that it renders after
        # the prompt, up to and including the end of the message.
        rest = whole[len(prompt) :] if whole.startswith(prompt) else content
        found = [(rest.rfind(end), end) for end in _ends(tokenizer) if end in rest]
        return rest[: max(found)[0] + len(max(found)[1])] if found else rest
    # Even if the template trims the reply, the end of the message follows it.
    tail = whole[whole.rfind(content.strip()) + len(content.strip()) :].lstrip()
    end = next((end for end in _ends(tokenizer) if tail.startswith(end)), "")
    return f"{content}{end}"


def _ends(tokenizer: Any) -> list[str]:
    """Return the special tokens, longest first."""
    added = [str(token) for token in tokenizer.get_added_vocab()]
    return sorted({*added, *tokenizer.all_special_tokens} - {""}, key=len, reverse=True)


def _encode(tokenizer: Any, text: str) -> list[int]:
    ids: list[int] = tokenizer.encode(text, add_special_tokens=False)
    return ids


def _encode_reply(tokenizer: Any, reply: str) -> list[int]:
    """Return the tokens of a reply, without the space that some tokenizers add before a text."""
    ids = encode_continuation(tokenizer, reply)
    return ids if _text(tokenizer, ids) == reply else _encode(tokenizer, reply)


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

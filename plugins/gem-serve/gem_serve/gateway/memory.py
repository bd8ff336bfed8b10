"""The memory of an episode: the call that a chat continues, and what clients drop of replies.

Many programs send replies back without the model's reasoning, or with arguments written anew. A
message of the assistant that differs from a recorded reply only in such ways is replaced by the
reply, so that the model sees what it said.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from gem_serve.gateway.events import Message, plain_arguments
from gem_serve.gateway.recorder import CallRecord

__all__ = ["Memory", "Recalled", "digest_of"]


@dataclass
class Recalled:
    """A chat as the model will see it.

    Args:
        messages: The messages, with recorded replies in the place of what the client sent.
        digest: Digest of the tools and the messages.
        message_parent: The newest call whose messages and reply begin the chat; None without one.
        position: Number of messages up to and including that reply.
        changes: What was restored, except in messages that the chat before it had too.
        state: The hash of the tools and the messages, to go on with.
        sent: The messages as the client sent them.
        tools: The tools, encoded.
    """

    messages: list[Message]
    digest: str = ""
    message_parent: CallRecord | None = None
    position: int = 0
    changes: list[str] = field(default_factory=list)
    state: Any = None
    sent: list[Message] = field(default_factory=list)
    tools: bytes = b""

    def after(self, reply: Message) -> str:
        """Return the digest of the tools, the messages and a reply."""
        state = self.state.copy()
        state.update(_encoded(reply))
        return str(state.hexdigest())


class Memory:
    """The replies of an episode by what came before them, by their tool calls and by their text.

    Args:
        restore: Whether to put recorded replies in the place of what the client sent.
    """

    def __init__(self, *, restore: bool = True) -> None:
        self._restore = restore
        self._before: dict[str, list[CallRecord]] = {}
        self._after: dict[str, CallRecord] = {}
        self._by_call: dict[str, Message] = {}
        self._by_text: dict[str, Message | None] = {}
        self._newest = Recalled([])
        """The newest chat, from which one that continues it goes on."""

    def add(self, call: CallRecord) -> None:
        """Remember a call that has a reply."""
        if call.digest != self._newest.digest:  # another reply may change what it continues
            self._newest = Recalled([])
        self._before.setdefault(call.digest, []).append(call)
        self._after[call.after] = call
        for one in call.reply.get("tool_calls", ()):
            self._by_call[one["id"]] = call.reply
        text = (call.reply.get("content") or "").strip()
        if text and not call.reply.get("tool_calls"):
            known = self._by_text.get(text, call.reply)
            same = known is not None and _encoded(known) == _encoded(call.reply)
            self._by_text[text] = call.reply if same else None

    def recall(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> Recalled:
        """Return a chat with recorded replies, and the call that it continues."""
        found = self._begun(messages, _dumps(tools))
        state = found.state
        for at, sent in enumerate(messages[len(found.sent) :], start=len(found.sent)):
            message = sent
            if sent["role"] == "assistant":
                message = self._recorded(sent, state.hexdigest())
                if message is not sent and _encoded(message) != _encoded(sent):
                    found.changes.append(f"message {at} was restored: {_difference(sent, message)}")
            found.sent.append(sent)
            found.messages.append(message)
            state.update(_encoded(message))
            if message["role"] == "assistant":
                call = self._after.get(state.hexdigest())
                if call is not None:
                    found.message_parent, found.position = call, at + 1
        found.digest = state.hexdigest()
        self._newest = found
        return found

    def _begun(self, messages: Sequence[Message], tools: bytes) -> Recalled:
        """Return a copy of the newest chat if this one continues it, and else an empty one."""
        newest = self._newest
        known = len(newest.sent)
        if not known or newest.tools != tools or messages[:known] != newest.sent:
            return Recalled([], state=hashlib.blake2b(tools, digest_size=16), tools=tools)
        return replace(
            newest,
            messages=[*newest.messages],
            changes=[],
            state=newest.state.copy(),
            sent=[*newest.sent],
        )

    def _recorded(self, sent: Message, digest: str) -> Message:
        """Return the recorded reply that a message stands for; the message if there is none."""
        if not self._restore:
            return sent
        for call in reversed(self._before.get(digest, ())):
            if _stands_for(sent, call.reply):
                return call.reply
        calls = sent.get("tool_calls")
        known = self._by_call.get(calls[0]["id"]) if calls else self._by_text.get(_text(sent))
        return known if known is not None and _stands_for(sent, known) else sent


def digest_of(tools: Sequence[Mapping[str, Any]], messages: Sequence[Message]) -> str:
    """Return the digest of tools and messages."""
    state = hashlib.blake2b(_dumps(tools), digest_size=16)
    for message in messages:
        state.update(_encoded(message))
    return state.hexdigest()


def _stands_for(sent: Message, reply: Message) -> bool:
    """Return whether a message is a reply from which a client dropped reasoning or spaces."""
    if _text(sent) not in {_text(reply), ""} or (not _text(sent) and not sent.get("tool_calls")):
        return False
    if _calls(sent) != _calls(reply):
        return False
    reasoning = sent.get("reasoning_content") or ""
    return reasoning.strip() in {"", (reply.get("reasoning_content") or "").strip()}


def _text(message: Message) -> str:
    return str(message.get("content") or "").strip()


def _calls(message: Message) -> list[Any]:
    return [
        [one["id"], one["function"]["name"], plain_arguments(one["function"]["arguments"])]
        for one in message.get("tool_calls", ())
    ]


def _difference(sent: Message, reply: Message) -> str:
    names = ("content", "reasoning_content", "tool_calls")
    return ", ".join(name for name in names if sent.get(name) != reply.get(name))


def _encoded(message: Message) -> bytes:
    return _dumps(
        [
            message["role"],
            message.get("content") or "",
            message.get("reasoning_content") or "",
            message.get("tool_call_id") or "",
            _calls(message) if message.get("tool_calls") else [],
        ]
    )


def _dumps(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)

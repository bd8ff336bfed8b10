"""The record of an episode's calls, and its log: JSON Lines that are only appended to.

Each call stores what is new in it: the messages after those of the call that it continues, and the
token ids after those of the call that its prompt extends. A log therefore grows linearly with an
episode, and a gateway that starts again reads it back.
"""

import bisect
import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import orjson

from gem_core.records import from_fields, to_fields
from gem_rollout.records.store import private
from gem_serve.gateway.events import Message

__all__ = ["CallRecord", "Log", "Records", "call_from", "read_log", "tokens_of"]


@dataclass
class CallRecord:
    """A call that has ended.

    Args:
        id: Its id.
        number: Its number in the episode, by the time of its beginning.
        dialect: The API that the program spoke.
        model: The model that it asked for.
        messages: The messages that follow those and the reply of ``message_parent``.
        tools: Key of its tools in the log.
        system: Digest of its system message.
        digest: Digest of the tools and all messages.
        after: Digest of the tools, all messages and the reply.
        reply: The model's message, in OpenAI's form.
        finish_reason: Why the model stopped; None if it did not.
        message_parent: The call whose messages and reply begin its messages; None without one.
        token_parent: The call whose prompt and sampled tokens begin its prompt; None without one.
        prompt_tokens: Number of tokens of the prompt.
        new_ids: Token ids of the prompt after those of ``token_parent``.
        ids: The sampled token ids.
        logprobs: Their log-probabilities in nats.
        exact: Whether token ids and log-probabilities are complete.
        problem: Why they are not.
        status: ``done``, ``failed`` (nothing was sampled) or ``partial``.
        error: What the program was told; None if it got a reply.
        kind: The kind of the error; see ``CallError``.
        sent: Whether a client was sent the whole answer.
        changes: What the gateway changed in the request, and not in an earlier one already.
        started: Unix time of the beginning.
        ended: Unix time of the end.
        waited: Seconds before the engine was asked.
        version: Version of the weights that sampled the reply, as ``resume`` has it; None if they
            were exchanged meanwhile.
        clients: Number of clients that were given the reply; retries join a call.
        extra: Fields of a newer version.
    """

    id: str
    number: int
    dialect: str = "chat"
    model: str = ""
    messages: list[Message] = field(default_factory=list)
    tools: str = ""
    system: str = ""
    digest: str = ""
    after: str = ""
    reply: Message = field(default_factory=dict)
    finish_reason: str | None = None
    message_parent: str | None = None
    token_parent: str | None = None
    prompt_tokens: int = 0
    new_ids: list[int] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    logprobs: list[float | None] = field(default_factory=list)
    exact: bool = False
    problem: str | None = None
    status: str = "done"
    error: str | None = None
    kind: str | None = None
    sent: bool = False
    changes: list[str] = field(default_factory=list)
    started: float = 0.0
    ended: float = 0.0
    waited: float = 0.0
    version: int | None = 0
    clients: int = 0
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """The number of tokens of the prompt and the reply."""
        return self.prompt_tokens + len(self.ids)


class Records:
    """The calls of an episode that have ended, with their tokens.

    Attributes:
        calls: The calls by id, in the order of their ends.
        tools: The tools by key.
    """

    def __init__(self) -> None:
        self.calls: dict[str, CallRecord] = {}
        self.tools: dict[str, list[dict[str, Any]]] = {}
        self._by_total: list[tuple[int, int, CallRecord]] = []
        """The calls that have tokens, by the number of all of these, and by age."""
        self._newest = ("", list[int]())
        """The newest call and all its tokens, which the next prompt often extends."""

    def add(self, call: CallRecord, prompt_ids: list[int] | None = None) -> None:
        """Take a call.

        Args:
            call: The call.
            prompt_ids: Token ids of its prompt, from which ``token_parent`` and ``new_ids`` are
                set; None if they are unknown, or the call comes from the log.
        """
        if prompt_ids is not None:
            parent = self._parent_of(prompt_ids)
            call.prompt_tokens = len(prompt_ids)
            call.token_parent = None if parent is None else parent.id
            call.new_ids = prompt_ids[0 if parent is None else parent.total :]
            self._newest = call.id, prompt_ids + call.ids
        if call.ids:
            bisect.insort(self._by_total, (call.total, len(self.calls), call))
        self.calls[call.id] = call

    def full(self, call_id: str) -> list[int]:
        """Return all token ids of a call: its prompt and what was sampled."""
        if self._newest[0] == call_id:
            return self._newest[1]
        return tokens_of(reversed([*self.chain(call_id, "token_parent")]))

    def messages(self, call_id: str) -> list[Message]:
        """Return all messages of a call and its reply."""
        chain = [*self.chain(call_id, "message_parent")]
        return [one for call in reversed(chain) for one in [*call.messages, call.reply]]

    def chain(
        self, call_id: str, by: Literal["token_parent", "message_parent"]
    ) -> Iterator[CallRecord]:
        """Yield a call and those that it follows, the newest first."""
        at: str | None = call_id
        while at is not None:
            yield self.calls[at]
            at = getattr(self.calls[at], by)

    def since(
        self, call: CallRecord, before: CallRecord, by: Literal["token_parent", "message_parent"]
    ) -> list[CallRecord] | None:
        """Return the calls after an earlier one up to this one; None if it does not follow it."""
        found: list[CallRecord] = []
        for one in self.chain(call.id, by):
            if one is before:
                return found[::-1]
            found.append(one)
        return None

    def _parent_of(self, prompt_ids: list[int]) -> CallRecord | None:
        """Return the call with the most tokens that a prompt begins with."""
        shorter = bisect.bisect_left(self._by_total, (len(prompt_ids),))
        for _, _, call in reversed(self._by_total[:shorter]):
            # The sampled tokens differ between calls more often than the prompts do.
            ends_alike = prompt_ids[call.prompt_tokens : call.total] == call.ids
            if ends_alike and prompt_ids[: call.total] == self.full(call.id):
                return call
        return None


def tokens_of(calls: Iterable[CallRecord]) -> list[int]:
    """Return the tokens of calls that follow each other: new ones of prompts, and sampled ones."""
    return [token for call in calls for ids in (call.new_ids, call.ids) for token in ids]


class Log:
    """The log of an episode.

    Args:
        path: The file; None to keep no log.
    """

    def __init__(self, path: Path | None) -> None:
        self._file = None
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(path, "ab", buffering=0, opener=private)  # noqa: SIM115

    def write(self, kind: str, fields: Mapping[str, Any]) -> None:
        """Append a line."""
        if self._file is not None:
            options = orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS
            self._file.write(orjson.dumps({"type": kind, **fields}, default=str, option=options))

    def write_call(self, call: CallRecord) -> None:
        """Append a call."""
        self.write("call", to_fields(call))

    def close(self) -> None:
        """Close the file; may be called twice."""
        if self._file is not None:
            self._file.close()
            self._file = None


def read_log(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the kind and the fields of each line, and cut off a last line that is incomplete."""
    end = 0
    with path.open("rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                break
            end += len(line)
            with contextlib.suppress(ValueError):
                fields = orjson.loads(line)
                yield fields.pop("type"), fields
    if end < path.stat().st_size:
        os.truncate(path, end)


def call_from(fields: Mapping[str, Any]) -> CallRecord:
    """Return the call of a line."""
    return from_fields(CallRecord, fields)

"""An episode of the gateway: its options, its calls, and what they cost."""

import asyncio
import math
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from gem_core.errors import ConfigError, near_names
from gem_core.seeding import child_seed
from gem_serve.gateway.call import Call
from gem_serve.gateway.events import Ask, CallError
from gem_serve.gateway.memory import Memory, digest_of
from gem_serve.gateway.recorder import CallRecord, Log, Records, call_from, read_log

__all__ = ["EpisodeOptions", "ProgramEpisode"]

_SEED_BITS = 2**63 - 1


@dataclass(frozen=True, kw_only=True)
class EpisodeOptions:
    """What an episode is created with.

    Args:
        env_id: The environment whose episode it is; for the trajectory.
        index: Number of the episode in its run.
        group: Number of its start state.
        sample: Number of the episode among those of the group.
        seed: Seed of the start state. Each call of the episode samples with a seed of its own.
        mode: ``engine``: the engine renders chats and parses replies. ``continue``: a chat that
            goes on keeps the tokens that were sampled, and the gateway parses.
        parser: The form of tool calls and reasoning, in ``continue``: ``hermes``, ``llama`` or
            ``deepseek``.
        thinks: Whether the chat template begins the reasoning, so that replies only end it; in
            ``continue``.
        sampling: Parameters for the engine, which replace the program's: ``temperature``,
            ``top_p``, ``max_tokens`` (the program may ask for less), ...
        calls: Most calls; None for no limit, here and below.
        tokens: Most sampled tokens.
        seconds: Most seconds after the creation.
        restore: Whether replies that the program sends back get the reasoning that it dropped.
        models: The model names that the program may ask for; None for any. All are answered by
            the engine's model.
        info: Anything else, for the trajectory.

    Raises:
        ConfigError: A value is invalid.
    """

    env_id: str = "gateway"
    index: int = 0
    group: int = 0
    sample: int = 0
    seed: int = 0
    mode: str = "engine"
    parser: str = "hermes"
    thinks: bool = False
    sampling: dict[str, Any] = field(default_factory=dict)
    calls: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    restore: bool = True
    models: list[str] | None = None
    info: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.mode not in {"engine", "continue"}:
            raise ConfigError(f"mode is engine or continue; got {self.mode!r}.")
        for name in ("calls", "tokens", "seconds"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int | float) and value >= 0):
                raise ConfigError(f"{name} must be 0 or more, or None; got {value!r}.")
        for name in ("index", "group", "sample", "seed"):
            if type(getattr(self, name)) is not int or getattr(self, name) < 0:
                raise ConfigError(
                    f"{name} must be a non-negative int; got {getattr(self, name)!r}."
                )

    @classmethod
    def from_fields(cls, given: Mapping[str, Any]) -> Self:
        """Return the options with these fields.

        Raises:
            ConfigError: A field is unknown or invalid.
        """
        known = {one.name for one in fields(cls)}
        for name in given:
            if name not in known:
                raise ConfigError(f"An episode has no option {name!r}.{near_names(name, known)}")
        return cls(**given)


class ProgramEpisode:
    """An episode.

    Args:
        episode_id: Its id, which is also the key that the program calls with.
        options: Its options.
        path: The file of its log; None for none.
    """

    def __init__(self, episode_id: str, options: EpisodeOptions, path: Path | None = None) -> None:
        self.id, self.options = episode_id, options
        self.records = Records()
        self.memory = Memory(restore=options.restore)
        self.live: dict[str, Call] = {}
        self.created = time.time()
        self.reward: float | None = None
        self.reward_info: dict[str, Any] = {}
        self.closed: dict[str, Any] | None = None
        self.closing = asyncio.Lock()
        self.is_written = False
        """Whether the trajectory is in the file; of an earlier process it is taken to be."""
        self.refused = 0
        self.is_played = False
        """Whether this process has created it or answered one of its calls."""
        self._by_body: dict[str, list[Call]] = {}
        self._begun = 0
        self._sampled = 0
        self._reserved = 0
        self._freed = asyncio.Event()
        self._path = path
        self._log = Log(None)

    @classmethod
    def create(cls, options: EpisodeOptions, folder: Path | None) -> Self:
        """Make an episode with a new id, and begin its log."""
        episode_id = secrets.token_hex(12)
        path = None if folder is None else folder / f"{episode_id}.jsonl"
        episode = cls(episode_id, options, path)
        episode.begin_log()
        fields_ = asdict(options)
        line = {"id": episode_id, "created": episode.created, "options": fields_}
        episode._log.write("episode", line)
        return episode

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """Return the episode of a log; None if the log has no beginning."""
        lines = read_log(path)
        kind, first = next(lines, ("", {}))
        if kind != "episode":
            return None
        episode = cls(first["id"], EpisodeOptions.from_fields(first["options"]), path)
        episode.created = first["created"]
        for kind, line in lines:
            episode._take(kind, line)
        if episode.closed is None:
            episode.begin_log()
        return episode

    def begin_log(self) -> None:
        """Open the log to append to it."""
        self._log = Log(self._path)

    def _take(self, kind: str, line: dict[str, Any]) -> None:
        if kind == "tools":
            self.records.tools[line["key"]] = line["tools"]
        elif kind == "call":
            call = call_from(line)
            self.records.add(call)
            self._begun = max(self._begun, call.number + 1)
            self._sampled += len(call.ids)
            if call.status == "done":
                self.memory.add(call)
        elif kind == "sent":
            self.records.calls[line["call"]].sent = True
        elif kind == "reward":
            self.reward, self.reward_info = line["value"], line["info"]
        elif kind == "refused":
            self.refused += 1
        elif kind == "close":
            self.closed, self.is_written = line, True

    def open_call(
        self, ask: Ask, dialect: str, body_key: str, *, is_retry: bool
    ) -> tuple[Call, bool]:
        """Return the call of a request, and whether it is new.

        A request that repeats an earlier one joins its call if it is marked as a retry, or if every
        client of that call has left. Two equal requests are otherwise two calls.

        Raises:
            CallError: The episode is closed, or over its budget.
        """
        earlier = _to_join(self._by_body.get(body_key, ()), is_retry=is_retry)
        if earlier is not None:
            return earlier, False
        self.check_open()
        recalled = self.memory.recall(ask.messages, ask.tools)
        ask.messages = recalled.messages
        record = CallRecord(
            id=f"{self.id[:8]}{self._begun:05d}{secrets.token_hex(4)}",
            number=self._begun,
            dialect=dialect,
            model=ask.model,
            messages=recalled.messages[recalled.position :],
            tools=self._tools_key(ask),
            system=_system(ask),
            digest=recalled.digest,
            message_parent=None if recalled.message_parent is None else recalled.message_parent.id,
            changes=[*ask.changes, *recalled.changes],
            started=time.time(),
        )
        self._begun += 1
        call = Call(record, ask, recalled)
        self.live[record.id] = call
        self._by_body.setdefault(body_key, []).append(call)
        return call, True

    def check_open(self) -> None:
        """Raise an error if no further call is allowed.

        Raises:
            CallError: The episode is closed, or over its budget.
        """
        if self.closed is not None:
            raise CallError(409, f"Episode {self.id} is closed.", "conflict")
        used = {
            "calls": self._begun,
            "tokens": self._sampled,
            "seconds": time.time() - self.created,
        }
        for name, value in used.items():
            self._check_budget(name, value)

    async def reserve(self, call: Call) -> None:
        """Reserve the tokens of a call, and limit its reply to them.

        A call whose reply has no limit reserves all that is left. The calls after it wait until it
        has ended, so calls at the same time cannot use more than the budget.

        Raises:
            CallError: Other calls have used the budget.
        """
        ask, most = call.ask, self.options.sampling.get("max_tokens")
        if most is not None:
            ask.max_tokens = min(most, ask.max_tokens or most)
        if self.options.tokens is None:
            return
        while (left := int(self.options.tokens) - self._sampled - self._reserved) <= 0:
            self._check_budget("tokens", self._sampled)
            self._freed.clear()
            await self._freed.wait()
        call.reserved = ask.budget = min(left, ask.max_tokens or left)
        self._reserved += call.reserved
        if ask.max_tokens is not None and ask.max_tokens > call.reserved:
            ask.max_tokens = call.reserved
            change = f"max_tokens is {call.reserved}, which is left of the episode's budget"
            call.record.changes.append(change)

    def _check_budget(self, name: str, used: float) -> None:
        most = getattr(self.options, name)
        if most is not None and used >= most:
            raise CallError(
                429, f"Episode {self.id} has used its budget of {most:g} {name}.", "limit"
            )

    def sampling(self, number: int) -> dict[str, Any]:
        """Return the sampling parameters of a call, with a seed of its own."""
        seed = child_seed(self.options.seed, self.options.sample, number) & _SEED_BITS
        return {"seed": seed, **self.options.sampling}

    def finish(self, call: Call) -> None:
        """Record a call that has ended."""
        record = call.record
        self.live.pop(record.id, None)
        _check_tokens(call)
        record.ended = time.time()
        self._sampled += max(len(record.ids), call.sampled)
        self._reserved -= call.reserved
        self._freed.set()
        record.after = call.recalled.after(record.reply)
        self.records.add(record, call.prompt_ids)
        if record.status == "done":
            self.memory.add(record)
        self._log.write_call(record)

    def sent(self, call: Call) -> None:
        """Record that a client was sent the whole answer of a call."""
        if not call.record.sent:
            call.record.sent = True
            self._log.write("sent", {"call": call.record.id})

    def refuse(self, error: CallError) -> None:
        """Record a request that was refused."""
        self.refused += 1
        line = {"status": error.status, "field": error.field, "message": error.message}
        self._log.write("refused", line)

    def set_reward(self, value: float, info: Mapping[str, Any] | None = None) -> None:
        """Set the reward, which the last call of the main line is paid.

        Raises:
            ConfigError: It is not a finite number.
        """
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not math.isfinite(value)
        ):
            raise ConfigError(f"A reward is a finite number; got {value!r}.")
        self.reward, self.reward_info = float(value), dict(info or {})
        self._log.write("reward", {"value": self.reward, "info": self.reward_info})

    async def close(self, **how: Any) -> None:
        """End the episode: calls that run are ended, and later ones are refused.

        Args:
            how: ``truncated`` and ``error`` of the trajectory.
        """
        if self.closed is not None:
            return
        self.closed = {"truncated": False, "error": None, **how}
        for call in list(self.live.values()):
            call.abort("The episode was closed.")
        await asyncio.gather(
            *(one.task for one in self.live.values() if one.task), return_exceptions=True
        )
        self._log.write("close", {**self.closed, "at": time.time()})
        self._log.close()
        self._by_body.clear()

    def stop(self) -> None:
        """Close the log of an episode that goes on after a restart."""
        self._log.close()

    def _tools_key(self, ask: Ask) -> str:
        if not ask.tools:
            return ""
        key = digest_of(ask.tools, [])
        if key not in self.records.tools:
            self.records.tools[key] = ask.tools
            self._log.write("tools", {"key": key, "tools": ask.tools})
        return key

    def states(self) -> Iterator[tuple[str, int]]:
        """Yield the number of calls in each state."""
        counts: dict[str, int] = {"live": len(self.live), "refused": self.refused}
        for call in self.records.calls.values():
            counts[call.status] = counts.get(call.status, 0) + 1
        yield from counts.items()


def _to_join(calls: Sequence[Call], *, is_retry: bool) -> Call | None:
    """Return the call that a repeated request joins; None if it is a call of its own."""
    failed = [one for one in calls if one.error is not None and not one.was_repeated]
    if is_retry and failed:
        failed[0].was_repeated = True
        return None
    going = [one for one in calls if one.error is None]
    found = [one for one in going if one.is_abandoned] or (going if is_retry else [])
    return min(found, key=lambda one: one.record.sent, default=None)


def _system(ask: Ask) -> str:
    return digest_of([], [one for one in ask.messages[:1] if one["role"] == "system"])


def _check_tokens(call: Call) -> None:
    """Set whether the token ids and log-probabilities of a call are complete."""
    record = call.record
    problem = None
    if call.prompt_ids is None:
        problem = "the engine returned no token ids of the prompt"
    elif not record.ids:
        problem = "the engine returned no sampled token ids"
    elif len(record.logprobs) != len(record.ids):
        problem = f"{len(record.ids)} tokens have {len(record.logprobs)} log-probabilities"
    elif not all(
        isinstance(one, int | float) and math.isfinite(one) and one <= 1e-4
        for one in record.logprobs
    ):
        problem = "a log-probability is not a finite number of at most 0"
    if problem is not None:
        record.logprobs = [
            one if isinstance(one, int | float) and math.isfinite(one) else None
            for one in record.logprobs
        ]
    record.exact, record.problem = problem is None, problem

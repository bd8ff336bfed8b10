"""Continuous batching: prompts join the batch when they arrive and leave it when they end.

A step either computes the uncached tokens of new prompts, or one more token of all live prompts.
Keys and values stay in their slots until these are needed. The next turn of an episode therefore
computes only its new tokens, and episodes with a common beginning compute it once, sampled tokens
included, until they differ. The cache is dropped when the weights change.
"""

import asyncio
import itertools
import math
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from gem_agents.kv_cache import CachedForward
from gem_agents.mutable_model import MutableModel
from gem_agents.sampling import RowRNG
from gem_agents.slots import ROUNDS, Allocation, PrefixIndex, Slot
from gem_agents.stop_strings import StopStrings
from gem_core.errors import GemError
from gem_core.seeding import fresh_seed
from gem_rollout.sampler import Request, Sampled

__all__ = ["Decoder", "Job", "LogitsError"]

_BLOCK = 16384
"""Most tokens of a forward pass over prompts, padding included."""


class LogitsError(GemError, FloatingPointError):
    """The logits of a local model are not finite."""


class Job:
    """A request and the state of its answer.

    Args:
        request: The request.
        future: The future of its result.
    """

    def __init__(self, request: Request, future: "asyncio.Future[Sampled]") -> None:
        self.request = request
        self.future = future
        self.ids = list(request.ids)
        """Tokens of the prompt, followed by the sampled tokens."""
        self.logprobs: list[float] = []
        self.is_complete = False
        self.history: object = object()
        """Identifies the tokens: jobs with the same object have the same tokens."""
        self.seed = (fresh_seed() if request.seed is None else request.seed) % 2**64
        self.since = self.began = time.perf_counter()

    def new(self) -> list[int]:
        """Return the sampled tokens."""
        return self.ids[len(self.request.ids) :]

    def sampled(self) -> Sampled:
        """Return the result."""
        return Sampled(
            self.new(),
            self.logprobs,
            self.is_complete,
            self.began - self.since,
            time.perf_counter() - self.began,
        )


class _Round(NamedTuple):
    """Rows whose prompts are computed together.

    Args:
        first: The first row.
        end: The row after the last.
        allocations: The allocations of their prompts.
    """

    first: int
    end: int
    allocations: Sequence[Allocation] = ()


class Decoder:
    """Decodes jobs with a model.

    Args:
        model: The model; its weights may change between steps.
        end_ids: Tokens that end a reply.
        stop_strings: Finds strings that end a reply.
        batch_size: Most jobs at the same time.
    """

    def __init__(
        self,
        model: MutableModel,
        end_ids: frozenset[int],
        stop_strings: StopStrings,
        batch_size: int,
    ) -> None:
        self.episodes = 0
        """Number of episodes whose tokens stay cached between their turns."""
        self._model = model
        self._end_ids = end_ids
        self._stop_strings = stop_strings
        self._batch_size = batch_size
        self._clock = 0
        self._weights: Any = None
        self._live: list[Slot] = []
        self._reset_cache()

    @property
    def is_busy(self) -> bool:
        """Whether there are live jobs."""
        return bool(self._live)

    def abandon(self) -> list[Job]:
        """Reset the decoder, and return the jobs that were live."""
        jobs = [slot.job for slot in self._live]
        self._live = []
        self._reset_cache()
        return jobs

    def _reset_cache(self) -> None:
        """Drop the cache; live jobs will be computed again."""
        self._slots = list(self._live)
        for row, slot in enumerate(self._slots):
            slot.number = slot.row = row
            slot.cached = 0
        self._index = PrefixIndex()
        self._forward: CachedForward | None = None
        self._rng: RowRNG | None = None
        self._tokens: torch.Tensor | None = None
        self._rounds = [_Round(0, len(self._live))] if self._live else []
        self._has_left = False

    def step(self, waiting: deque[Job]) -> list[Job]:
        """Admit waiting jobs up to the batch size, and do one step.

        Returns:
            The jobs that have ended.

        Raises:
            LogitsError: The model's logits are not finite.
        """
        self._clock += 1
        can_join = bool(waiting) and len(self._live) < self._batch_size
        with self._model.evaluating(compare=can_join) as weights:
            if weights != self._weights:
                self._weights = weights
                self._reset_cache()
            if self._forward is None and self._model.can_cache:
                self._forward = self._model.cached_forward()
            if not self._rounds and (self._has_left or can_join):
                self._admit(waiting)
            if self._forward is None and self._live:
                self._rounds = [_Round(0, len(self._live))]
            with self._model.threads.limited(*self._size()):
                return self._prefill() if self._rounds else self._decode()

    def _size(self) -> tuple[int, int]:
        """Return the number of tokens that a step computes, and the length of the longest job."""
        lengths = [len(slot.job.ids) for slot in self._live]
        tokens = len(lengths)
        if self._rounds:
            known = sum(one.shared for part in self._rounds for one in part.allocations)
            tokens = sum(lengths[self._rounds[0].first :]) - known
        return tokens, max(lengths, default=0)

    def _admit(self, waiting: deque[Job]) -> None:
        """Allocate slots to waiting jobs, after those of the live jobs."""
        jobs: list[Job] = []
        now = time.perf_counter()
        while waiting and len(self._live) + len(jobs) < self._batch_size:
            job = waiting.popleft()
            if not job.future.done():
                job.began = now
                jobs.append(job)
        idle = [slot for slot in self._slots if slot.job is None]
        room = max(self._batch_size, self.episodes) - len(self._slots)
        for _ in range(max(min(len(jobs), room), len(jobs) - len(idle))):
            idle.append(Slot(len(self._slots)))
            self._slots.append(idle[-1])
        allocations = self._index.allocate([job.ids for job in jobs], self._slots, idle)
        for job, one in zip(jobs, allocations, strict=True):
            one.slot.job, one.slot.last_used = job, self._clock
            if one.round == ROUNDS:
                job.history = one.source.job.history
        self._arrange(allocations)

    def _arrange(self, allocations: Sequence[Allocation]) -> None:
        """Move live jobs to the first rows, followed by the new ones, round by round."""
        for slot in self._live:
            slot.cached = len(slot.job.ids) - 1
        for one in allocations:
            one.slot.cached = 0 if one.round else one.shared
        joining = [
            [one.slot for one in allocations if one.round == number] for number in range(ROUNDS + 1)
        ]
        idle = [slot for slot in self._slots if slot.job is None]
        arranged: list[Slot] = []
        ends = []
        for group in (self._live, *joining, idle):
            arranged += _in_order(group, len(arranged))
            ends.append(len(arranged))
        source_of = {one.slot: one.source for one in allocations if not one.round}
        sources = [source_of.get(slot, slot).row for slot in arranged]
        moved = [
            row for row, source in enumerate(sources) if row != source and arranged[row].cached
        ]
        if moved and self._forward is not None:
            self._forward.cache.reserve(len(arranged), 0)
            self._forward.cache.move(
                moved, [sources[row] for row in moved], max(arranged[row].cached for row in moved)
            )
        for row, slot in enumerate(arranged):
            slot.row = row
        self._slots, self._live = arranged, arranged[: ends[ROUNDS + 1]]
        self._has_left, self._rng = False, None
        self._rounds = [
            _Round(first, end, [one for one in allocations if one.round == number])
            for number, (first, end) in enumerate(itertools.pairwise(ends[: ROUNDS + 2]))
            if end > first
        ]
        for one in allocations:
            self._index.record(one.slot, one.slot.job.ids)

    def _prefill(self) -> list[Job]:
        """Compute the new prompts, and sample the first token of each."""
        slots = self._slots[self._rounds[0].first : self._rounds[-1].end]
        parts: list[torch.Tensor] = []
        for first, end, allocations in self._rounds:
            self._copy(allocations, end)
            if allocations and allocations[0].round == ROUNDS:  # repeated prompts, equal logits
                in_order = sorted(allocations, key=lambda one: one.slot.row)
                rows = [one.source.row - slots[0].row for one in in_order]
                parts = [torch.cat(parts)]
                parts.append(parts[0][torch.tensor(rows, device=parts[0].device)])
                continue
            begin = first
            while begin < end:
                after = self._end_of_block(begin, end)
                parts.append(self._prefill_block(begin, after))
                begin = after
        self._rounds, self._rng = [], None
        logits = torch.cat(parts)
        return self._take(slots, *self._rng_of(slots, logits.device).sample(logits))

    def _copy(self, allocations: Sequence[Allocation], end: int) -> None:
        """Copy the beginnings that prompts share with those of earlier rounds."""
        copied = [one for one in allocations if one.round and one.shared]
        if not copied or self._forward is None:
            return
        self._forward.cache.reserve(end, 0)
        self._forward.cache.move(
            [one.slot.row for one in copied],
            [one.source.row for one in copied],
            max(one.shared for one in copied),
        )
        for one in copied:
            one.slot.cached = one.shared

    def _end_of_block(self, first: int, end: int) -> int:
        """Return the end of the rows from ``first`` on that fit into one forward pass."""
        widest = 0
        for count, slot in enumerate(self._slots[first:end]):
            widest = max(widest, len(slot.job.ids) - slot.cached)
            if count and widest * (count + 1) > _BLOCK:
                return first + count
        return end

    def _prefill_block(self, first: int, end: int) -> torch.Tensor:
        slots = self._slots[first:end]
        sequences = [slot.job.ids for slot in slots]
        if self._forward is None:
            return self._model.plain_logits(sequences)
        return self._forward.prefill(first, sequences, [slot.cached for slot in slots])

    def _decode(self) -> list[Job]:
        """Compute one more token of all live jobs."""
        if not self._live or self._forward is None:
            return []
        if self._rng is None:
            jobs = [slot.job for slot in self._live]
            self._forward.begin([job.ids[-1] for job in jobs], [len(job.ids) - 1 for job in jobs])
            self._tokens = None
        logits = self._forward.decode(self._tokens, self._first_equal())
        if self._rng is None:
            self._rng = self._rng_of(self._live, logits.device)
        self._tokens, logprobs = self._rng.sample(logits)
        return self._take(self._live, self._tokens, logprobs)

    def _first_equal(self) -> list[int] | None:
        """Return the index of the first job with the same tokens for each live job.

        Episodes of a group often begin with the same tokens. Computing these once requires a copy
        of the cached tokens, which only pays if at least half of the jobs need not be computed:
        otherwise the result is None.
        """
        first: dict[object, int] = {}
        histories = (slot.job.history for slot in self._live)
        indices = [first.setdefault(history, row) for row, history in enumerate(histories)]
        return indices if 2 * len(first) <= len(indices) else None

    def _rng_of(self, slots: Sequence[Slot], device: Any) -> RowRNG:
        jobs = [slot.job for slot in slots]
        counts = [len(job.logprobs) for job in jobs]
        return RowRNG([job.request for job in jobs], [job.seed for job in jobs], counts, device)

    def _take(
        self, slots: Sequence[Slot], tokens: torch.Tensor, logprobs: torch.Tensor
    ) -> list[Job]:
        """Append a token to each job, and return the jobs that have ended."""
        values = logprobs[:, 0].tolist()
        if not math.isfinite(sum(values)):
            raise LogitsError(
                "The model's logits are not finite: its weights are broken, or numbers are too "
                "large for its dtype."
            )
        ended = []
        histories: dict[tuple[object, int], object] = {}
        for slot, token, logprob in zip(slots, tokens[:, 0].tolist(), values, strict=True):
            job = slot.job
            job.ids.append(token)
            job.logprobs.append(logprob)
            job.history = histories.setdefault((job.history, token), object())
            request = job.request
            job.is_complete = token in self._end_ids or (
                bool(request.stop) and self._stop_strings.end(job.new(), request.stop)
            )
            full = len(job.logprobs) >= request.max_new_tokens
            if job.is_complete or full or job.future.done():
                ended.append(job)
                slot.job, slot.cached = None, len(job.ids) - 1
                self._index.record(slot, job.ids[:-1], start=len(request.ids))
        if ended:
            self._live = [slot for slot in self._live if slot.job is not None]
            self._has_left = True
        return ended


def _in_order(group: Sequence[Slot], low: int) -> list[Slot]:
    """Return slots in an order for the rows from ``low`` on that moves as few as possible."""
    high = low + len(group)
    order: list[Slot | None] = [None] * len(group)
    moved = []
    for slot in group:
        if low <= slot.row < high:
            order[slot.row - low] = slot
        else:
            moved.append(slot)
    others = iter(moved)
    return [next(others) if slot is None else slot for slot in order]

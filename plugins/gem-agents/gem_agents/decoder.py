"""Continuous batching: prompts join the batch when they arrive and leave it when they end.

A step either computes the uncached tokens of new prompts, or one more token of all live prompts.
Keys and values stay in their slots until these are needed. The next turn of an episode therefore
computes only its new tokens, and prompts with a common beginning compute it once. The cache is
dropped when the weights change.
"""

import itertools
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from gem_agents.batch_limits import BatchLimits
from gem_agents.errors import LogitsError
from gem_agents.jobs import Job
from gem_agents.kv_cache import CachedForward
from gem_agents.mutable_model import MutableModel
from gem_agents.prompt_images import PromptImages
from gem_agents.sampling import RowRNG
from gem_agents.slots import ROUNDS, Allocation, PrefixIndex, Slot, in_order
from gem_agents.stop_strings import StopStrings

__all__ = ["Decoder"]

_BLOCK = 16384
"""Most tokens of a forward pass over prompts, padding included."""
_ROOM = 64
"""Tokens that must be left for the reply of a prompt that joins a batch with a bounded cache."""


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
        limits: Most jobs at the same time, and the size of the cache; it lowers them itself.
    """

    def __init__(
        self,
        model: MutableModel,
        end_ids: frozenset[int],
        stop_strings: StopStrings,
        limits: BatchLimits,
    ) -> None:
        self.episodes = 0
        """Number of episodes whose tokens stay cached between their turns."""
        self._model = model
        self._end_ids = end_ids
        self._stop_strings = stop_strings
        self._limits = limits
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

    def shrink(self, waiting: deque[Job]) -> bool:
        """Give up half of the batch, whose jobs wait again, and the cache, after a lack of memory.

        Returns:
            Whether there was something to give up.
        """
        live, slots = len(self._live), len(self._slots)
        self._limits.memory_errors += 1
        if live < 1 or max(live, slots) == 1:
            return False
        rows = max(1, live // 2) if live == slots else live
        self._limits.rows = min(self._limits.rows, rows)
        self._limits.idle_rows = rows
        self._preempt(rows, waiting)
        return True

    def _preempt(self, keep: int, waiting: deque[Job]) -> None:
        """Let all but the first jobs wait again with the tokens that they have; drop the cache."""
        by_age = sorted(self._live, key=lambda slot: (slot.last_used, slot.row))
        self._live = by_age[:keep]
        waiting.extendleft(slot.job for slot in reversed(by_age[keep:]))
        self._limits.preemptions += len(by_age) - len(self._live)
        self._reset_cache()

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
        can_join = bool(waiting) and len(self._live) < self._limits.rows
        if self._limits.kv_tokens is not None:
            can_join = can_join and bool(self._joining(waiting))
        with self._model.evaluating(compare=can_join) as weights:
            if weights != self._weights:
                self._weights = weights
                self._reset_cache()
            self._bound_cache(waiting)
            if self._forward is None and self._model.can_cache:
                self._forward = self._model.cached_forward(self._limits.kv_tokens)
            if not self._rounds and (self._has_left or can_join):
                self._admit(waiting)
            if self._forward is None and self._live:
                self._rounds = [_Round(0, len(self._live))]
            return self._prefill() if self._rounds else self._decode()

    def _bound_cache(self, waiting: deque[Job]) -> None:
        """Preempt jobs, or drop those idle, if the next step would make the cache too large."""
        if self._limits.kv_tokens is None or self._forward is None:
            return
        width = max((len(slot.job.ids) for slot in self._live), default=0)
        joining = self._joining(waiting)
        rows = self._rows_for(max([width, *(len(job.ids) for job in joining)]) + 1)
        if len(self._live) > self._rows_for(width + 1):
            # Some room is left, so that the next tokens do not preempt again.
            self._preempt(self._rows_for(width * 5 // 4 + 1), waiting)
        elif len(self._slots) > rows:
            self._reset_cache()

    def _rows_for(self, width: int) -> int:
        """Return how many rows of ``width`` tokens the cache may have, at least one."""
        bound = self._limits.kv_tokens
        if bound is None or self._forward is None:
            return self._limits.rows if bound is None else max(1, bound // max(1, width))
        return max(1, bound // self._forward.cache.capacity_for(width))

    def _joining(self, waiting: deque[Job]) -> list[Job]:
        """Return the waiting jobs that can join the batch, without those that nobody waits for."""
        jobs: list[Job] = []
        width = max((len(slot.job.ids) for slot in self._live), default=0)
        for job in waiting:
            width = max(width, len(job.ids))
            rows = len(self._live) + len(jobs) + (not job.future.done())
            most = min(self._limits.rows, self._rows_for(width + _ROOM))
            if rows > max(1, most):
                break
            if not job.future.done():
                jobs.append(job)
        return jobs

    def _admit(self, waiting: deque[Job]) -> None:
        """Allocate slots to waiting jobs, after those of the live jobs."""
        jobs = self._joining(waiting)
        while waiting and (waiting[0].future.done() or waiting[0] in jobs):
            waiting.popleft().began = time.perf_counter()
        idle = [slot for slot in self._slots if slot.job is None]
        most = max(self._limits.rows, self.episodes)
        if self._limits.idle_rows is not None:
            most = min(most, self._limits.idle_rows)
        if self._limits.kv_tokens is not None:
            longest = [len(one.ids) for one in (*(slot.job for slot in self._live), *jobs)]
            most = min(most, self._rows_for(max(longest, default=0) + 1))
        room = most - len(self._slots)
        for _ in range(max(min(len(jobs), room), len(jobs) - len(idle))):
            idle.append(Slot(len(self._slots)))
            self._slots.append(idle[-1])
        allocations = self._index.allocate([job.keys() for job in jobs], self._slots, idle)
        allocations = [
            one if job.images is None else one.without_parts(job.images)
            for job, one in zip(jobs, allocations, strict=True)
        ]
        for job, one in zip(jobs, allocations, strict=True):
            one.slot.job, one.slot.last_used = job, self._clock
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
            arranged += in_order(group, len(arranged))
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
            self._index.record(one.slot, one.slot.job.keys())

    def _prefill(self) -> list[Job]:
        """Compute the new prompts, and sample the first token of each."""
        slots = self._slots[self._rounds[0].first : self._rounds[-1].end]
        parts: list[torch.Tensor] = []
        for first, end, allocations in self._rounds:
            self._copy(allocations, end)
            if allocations and allocations[0].round == ROUNDS:  # repeated prompts, equal logits
                repeated = sorted(allocations, key=lambda one: one.slot.row)
                rows = [one.source.row - slots[0].row for one in repeated]
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
        images = _images_of(slots)
        if self._forward is None:
            return self._model.plain_logits(sequences, images)
        return self._forward.prefill(first, sequences, [slot.cached for slot in slots], images)

    def _decode(self) -> list[Job]:
        """Compute one more token of all live jobs."""
        if not self._live or self._forward is None:
            return []
        if self._rng is None:
            jobs = [slot.job for slot in self._live]
            ends = [len(job.ids) - 1 for job in jobs]
            self._forward.begin([job.ids[-1] for job in jobs], ends, _images_of(self._live))
            self._tokens = None
        logits = self._forward.decode(self._tokens)
        if self._rng is None:
            self._rng = self._rng_of(self._live, logits.device)
        self._tokens, logprobs = self._rng.sample(logits)
        return self._take(self._live, self._tokens, logprobs)

    def _rng_of(self, slots: Sequence[Slot], device: Any) -> RowRNG:
        jobs = [slot.job for slot in slots]
        counts = [len(job.logprobs) for job in jobs]
        return RowRNG([job.request for job in jobs], [job.seed for job in jobs], counts, device)

    def _take(
        self, slots: Sequence[Slot], tokens: torch.Tensor, logprobs: torch.Tensor
    ) -> list[Job]:
        """Append a token to each job, and return the jobs that have ended."""
        # One copy from the device, which waits for it; a float is copied as an integer of its bits.
        bits = torch.cat([tokens.int(), logprobs.view(torch.int32)], -1).T.cpu().numpy()
        values = bits[1].view(np.float32)
        if not np.isfinite(values).all():
            raise LogitsError(
                "The model's logits are not finite: its weights are broken, or numbers are too "
                "large for its dtype."
            )
        ended, version = [], self._model.version
        for slot, token, logprob in zip(slots, bits[0].tolist(), values.tolist(), strict=True):
            job = slot.job
            job.ids.append(token)
            job.logprobs.append(logprob)
            job.versions.append(version)
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


def _images_of(slots: Sequence[Slot]) -> list[PromptImages | None]:
    """Return the images of each slot's job; empty if there are none."""
    found = [slot.job.images for slot in slots]
    return found if any(found) else []

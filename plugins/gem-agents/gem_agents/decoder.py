"""Decodes many prompts at once: each joins when it comes and leaves when it ends.

A step either computes the prompts that have come, as far as nothing has cached them, or one more
token of all that are live. Keys and values stay in their places until these are needed, so that
the next turn of an episode computes only what is new, and episodes that begin alike compute their
beginning once, what they say included, until they differ. When weights have changed, all of it is
void.
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
from gem_agents.live_model import LiveModel
from gem_agents.places import ROUNDS, Place, Seating, Shelf
from gem_agents.sampler import LogitsError, Request, Sampled
from gem_agents.sampling import Draws
from gem_agents.stop_strings import StopStrings
from gem_core.seeding import fresh_seed

__all__ = ["Decoder", "Job"]

_BLOCK = 16384
"""Most tokens of a forward pass over prompts, with padding."""


class Job:
    """A prompt that is to be answered.

    Args:
        request: What is asked.
        future: Where the answer goes.
    """

    def __init__(self, request: Request, future: "asyncio.Future[Sampled]") -> None:
        self.request = request
        self.future = future
        self.ids = list(request.ids)
        """The prompt and what was sampled."""
        self.logprobs: list[float] = []
        self.is_complete = False
        self.history: object = object()
        """Jobs that have the same one have the same tokens."""
        self.seed = (fresh_seed() if request.seed is None else request.seed) % 2**64
        self.since = self.began = time.perf_counter()

    def new(self) -> list[int]:
        """Return the tokens that were sampled."""
        return self.ids[len(self.request.ids) :]

    def sampled(self) -> Sampled:
        """Return what was sampled."""
        return Sampled(
            self.new(),
            self.logprobs,
            self.is_complete,
            self.began - self.since,
            time.perf_counter() - self.began,
        )


class _Round(NamedTuple):
    """Places whose prompts are computed next.

    Args:
        first: The first place.
        end: The place after the last.
        seatings: What of the prompts is cached.
    """

    first: int
    end: int
    seatings: Sequence[Seating] = ()


class Decoder:
    """Decodes jobs with a model.

    Args:
        model: The model; its weights may change between steps.
        end_ids: Tokens that end a reply.
        stop_strings: Looks for the strings that end one.
        batch_size: Most jobs at once.
    """

    def __init__(
        self,
        model: LiveModel,
        end_ids: frozenset[int],
        stop_strings: StopStrings,
        batch_size: int,
    ) -> None:
        self.episodes = 0
        """How many episodes keep what they have cached between their turns."""
        self._model = model
        self._end_ids = end_ids
        self._stop_strings = stop_strings
        self._batch_size = batch_size
        self._clock = 0
        self._weights: Any = None
        self._live: list[Place] = []
        self._forget()

    @property
    def is_busy(self) -> bool:
        """Whether there are live jobs."""
        return bool(self._live)

    def abandon(self) -> list[Job]:
        """Forget everything, and return the jobs that were live."""
        jobs = [place.job for place in self._live]
        self._live = []
        self._forget()
        return jobs

    def _forget(self) -> None:
        """Drop what is cached; live jobs are computed again."""
        self._places = list(self._live)
        for at, place in enumerate(self._places):
            place.number = place.at = at
            place.cached = 0
        self._shelf = Shelf()
        self._forward: CachedForward | None = None
        self._draws: Draws | None = None
        self._tokens: torch.Tensor | None = None
        self._rounds = [_Round(0, len(self._live))] if self._live else []
        self._has_left = False

    def step(self, waiting: deque[Job]) -> list[Job]:
        """Take jobs that wait, as many as there is room for, and go one step further.

        Returns:
            The jobs that have ended.

        Raises:
            LogitsError: The model's scores are not finite.
        """
        self._clock += 1
        can_join = bool(waiting) and len(self._live) < self._batch_size
        with self._model.evaluating(look=can_join) as weights:
            if weights != self._weights:
                self._weights = weights
                self._forget()
            if self._forward is None and self._model.can_cache:
                self._forward = self._model.cached_forward()
            if not self._rounds and (self._has_left or can_join):
                self._admit(waiting)
            if self._forward is None and self._live:
                self._rounds = [_Round(0, len(self._live))]
            with self._model.threads.limited(*self._size()):
                return self._prefill() if self._rounds else self._decode()

    def _size(self) -> tuple[int, int]:
        """Return how many tokens a step computes, and how many the longest sequence has."""
        lengths = [len(place.job.ids) for place in self._live]
        tokens = len(lengths)
        if self._rounds:
            known = sum(one.shared for part in self._rounds for one in part.seatings)
            tokens = sum(lengths[self._rounds[0].first :]) - known
        return tokens, max(lengths, default=0)

    def _admit(self, waiting: deque[Job]) -> None:
        """Give places to the jobs that join, behind those that are live."""
        jobs: list[Job] = []
        now = time.perf_counter()
        while waiting and len(self._live) + len(jobs) < self._batch_size:
            job = waiting.popleft()
            if not job.future.done():
                job.began = now
                jobs.append(job)
        idle = [place for place in self._places if place.job is None]
        room = max(self._batch_size, self.episodes) - len(self._places)
        for _ in range(max(min(len(jobs), room), len(jobs) - len(idle))):
            idle.append(Place(len(self._places)))
            self._places.append(idle[-1])
        seatings = self._shelf.seat([job.ids for job in jobs], self._places, idle)
        for job, seating in zip(jobs, seatings, strict=True):
            seating.place.job, seating.place.used = job, self._clock
            if seating.round == ROUNDS:
                job.history = seating.source.job.history
        self._arrange(seatings)

    def _arrange(self, seatings: Sequence[Seating]) -> None:
        """Move live jobs to the first places, then those that join, round by round."""
        for place in self._live:
            place.cached = len(place.job.ids) - 1
        for seating in seatings:
            seating.place.cached = 0 if seating.round else seating.shared
        joining = [
            [one.place for one in seatings if one.round == turn] for turn in range(ROUNDS + 1)
        ]
        idle = [place for place in self._places if place.job is None]
        seated: list[Place] = []
        ends = []
        for group in (self._live, *joining, idle):
            seated += _in_order(group, len(seated))
            ends.append(len(seated))
        origins = {one.place: one.source for one in seatings if not one.round}
        sources = [origins.get(place, place).at for place in seated]
        moved = [at for at, source in enumerate(sources) if at != source and seated[at].cached]
        if moved and self._forward is not None:
            self._forward.cache.reserve(len(seated), 0)
            self._forward.cache.move(
                moved, [sources[at] for at in moved], max(seated[at].cached for at in moved)
            )
        for at, place in enumerate(seated):
            place.at = at
        self._places, self._live = seated, seated[: ends[ROUNDS + 1]]
        self._has_left, self._draws = False, None
        self._rounds = [
            _Round(first, end, [one for one in seatings if one.round == turn])
            for turn, (first, end) in enumerate(itertools.pairwise(ends[: ROUNDS + 2]))
            if end > first
        ]
        for seating in seatings:
            self._shelf.put(seating.place, seating.place.job.ids)

    def _prefill(self) -> list[Job]:
        """Compute the prompts that joined, and a token of each."""
        places = self._places[self._rounds[0].first : self._rounds[-1].end]
        parts: list[torch.Tensor] = []
        for first, end, seatings in self._rounds:
            self._copy(seatings, end)
            if seatings and seatings[0].round == ROUNDS:  # the same prompts have the same scores
                in_order = sorted(seatings, key=lambda one: one.place.at)
                rows = [one.source.at - places[0].at for one in in_order]
                parts = [torch.cat(parts)]
                parts.append(parts[0][torch.tensor(rows, device=parts[0].device)])
                continue
            begin = first
            while begin < end:
                after = self._end_of_block(begin, end)
                parts.append(self._prefill_block(begin, after))
                begin = after
        self._rounds, self._draws = [], None
        logits = torch.cat(parts)
        return self._take(places, *self._draws_of(places, logits.device).next(logits))

    def _copy(self, seatings: Sequence[Seating], end: int) -> None:
        """Copy what prompts have in common with those of the rounds before."""
        copied = [one for one in seatings if one.round and one.shared]
        if not copied or self._forward is None:
            return
        self._forward.cache.reserve(end, 0)
        self._forward.cache.move(
            [one.place.at for one in copied],
            [one.source.at for one in copied],
            max(one.shared for one in copied),
        )
        for one in copied:
            one.place.cached = one.shared

    def _end_of_block(self, first: int, end: int) -> int:
        """Return the place before which, from the first on, all are computed together."""
        widest = 0
        for count, place in enumerate(self._places[first:end]):
            widest = max(widest, len(place.job.ids) - place.cached)
            if count and widest * (count + 1) > _BLOCK:
                return first + count
        return end

    def _prefill_block(self, first: int, end: int) -> torch.Tensor:
        places = self._places[first:end]
        sequences = [place.job.ids for place in places]
        if self._forward is None:
            return self._model.plain_logits(sequences)
        return self._forward.prefill(first, sequences, [place.cached for place in places])

    def _decode(self) -> list[Job]:
        """Compute one more token of all that are live."""
        if not self._live or self._forward is None:
            return []
        if self._draws is None:
            jobs = [place.job for place in self._live]
            self._forward.begin([job.ids[-1] for job in jobs], [len(job.ids) - 1 for job in jobs])
            self._tokens = None
        logits = self._forward.decode(self._tokens, self._alike())
        if self._draws is None:
            self._draws = self._draws_of(self._live, logits.device)
        self._tokens, logprobs = self._draws.next(logits)
        return self._take(self._live, self._tokens, logprobs)

    def _alike(self) -> list[int] | None:
        """Return for each live job the first one with the same tokens; None if few have others.

        Those of a group often begin alike. Computing them once takes a copy of what they have
        cached, which is worth it if half of them need not be computed.
        """
        first: dict[object, int] = {}
        histories = (place.job.history for place in self._live)
        alike = [first.setdefault(history, row) for row, history in enumerate(histories)]
        return alike if 2 * len(first) <= len(alike) else None

    def _draws_of(self, places: Sequence[Place], device: Any) -> Draws:
        jobs = [place.job for place in places]
        counts = [len(job.logprobs) for job in jobs]
        return Draws([job.request for job in jobs], [job.seed for job in jobs], counts, device)

    def _take(
        self, places: Sequence[Place], tokens: torch.Tensor, logprobs: torch.Tensor
    ) -> list[Job]:
        """Add a token to each job, and return those that have ended."""
        values = logprobs[:, 0].tolist()
        if not math.isfinite(sum(values)):
            raise LogitsError(
                "The model's scores are not finite: its weights are broken, or its numbers are too "
                "large for their type."
            )
        ended = []
        histories: dict[tuple[object, int], object] = {}
        for place, token, logprob in zip(places, tokens[:, 0].tolist(), values, strict=True):
            job = place.job
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
                place.job, place.cached = None, len(job.ids) - 1
                self._shelf.put(place, job.ids[:-1], start=len(request.ids))
        if ended:
            self._live = [place for place in self._live if place.job is not None]
            self._has_left = True
        return ended


def _in_order(group: Sequence[Place], low: int) -> list[Place]:
    """Return a group of places so that, from ``low`` on, as few as can be have to move."""
    high = low + len(group)
    order: list[Place | None] = [None] * len(group)
    moved = []
    for place in group:
        if low <= place.at < high:
            order[place.at - low] = place
        else:
            moved.append(place)
    others = iter(moved)
    return [next(others) if place is None else place for place in order]

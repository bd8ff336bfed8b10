"""Adapters of two frameworks that do not exist: the shapes of most that do.

The framework of ``PullStub`` offers a function that samples for a batch; that of ``PushStub`` asks
for a prompt, samples, and hands over the reply. Their trainers take rows and leave out nothing.
"""

import asyncio
from collections.abc import Sequence

from gem_adapters.testing.adapters import Case, Harness, Played, sessions_of
from gem_core.background import BackgroundLoop
from gem_rollout.records.rows import training_rows
from gem_rollout.records.trajectory import Trajectory
from gem_rollout.tokens.play import play_batch
from gem_rollout.tokens.reply import Prompt, ReplyError
from gem_rollout.tokens.sampler import Sampled
from gem_rollout.tokens.session import TokenSession

__all__ = ["STUBS", "PullStub", "PushStub", "played_of"]


class PullStub(Harness):
    """Plays episodes in lock step, with one call of the engine for a turn of all."""

    name = "stub.pull"

    def play(self, case: Case) -> list[Played]:
        loop = BackgroundLoop()
        try:
            trajectories = loop.run(
                play_batch(sessions_of(case), lambda asked: _batch(case, asked))
            )
        finally:
            loop.close()
        return [played_of(one, case) for one in trajectories]


class PushStub(Harness):
    """Plays each episode in a task of its own."""

    name = "stub.push"

    def play(self, case: Case) -> list[Played]:
        return asyncio.run(self._play(case))

    async def _play(self, case: Case) -> list[Played]:
        sessions = sessions_of(case)
        return list(await asyncio.gather(*(self.episode(one, case) for one in sessions)))

    async def episode(self, session: TokenSession, case: Case) -> Played:
        """Play one episode."""
        try:
            prompt = await session.begin()
            while prompt is not None:
                try:
                    reply = await case.model.asample(prompt.ids, prompt.room)
                except Exception as error:  # noqa: BLE001 - the session records it
                    await session.abort(error)
                    break
                if reply is None:
                    await session.abort(ReplyError("The engine returned nothing."))
                    break
                result = await session.feed(reply.ids, reply.logprobs, complete=reply.is_complete)
                prompt = result.prompt
        finally:
            await session.aclose()
        return played_of(session.trajectory, case)


def played_of(trajectory: Trajectory, case: Case) -> Played:
    """Return the rows of an episode; those of a failed one are masked."""
    rows = training_rows(
        trajectory, limits=case.limits, one_sequence=case.one_sequence, logprobs="optional"
    )
    if trajectory.error is None:
        return Played(rows)
    for row in rows:
        row.mask = [False] * len(row.mask)
    return Played(rows, "masked", trajectory.error["message"])


def _batch(case: Case, prompts: Sequence[Prompt]) -> list[Sampled | BaseException | None]:
    replies: list[Sampled | BaseException | None] = []
    for prompt in prompts:
        try:
            replies.append(case.model.sample(prompt.ids, prompt.room))
        except Exception as error:  # noqa: BLE001 - of this episode alone
            replies.append(error)
    return replies


STUBS: tuple[Harness, ...] = (PullStub(), PushStub())
"""The harnesses that need no framework."""

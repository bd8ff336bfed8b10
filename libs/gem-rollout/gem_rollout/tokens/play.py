"""Plays token sessions for trainers that offer a function which samples."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

from gem_rollout.records.trajectory import Trajectory
from gem_rollout.tokens.reply import Prompt, ReplyError, ReplyInterruptedError
from gem_rollout.tokens.sampler import Sampled
from gem_rollout.tokens.session import TokenSession

__all__ = ["play_batch", "play_tokens"]


async def play_tokens(
    session: TokenSession, generate: Callable[[Prompt], Awaitable[Sampled | None]]
) -> Trajectory:
    """Play an episode with a function that samples.

    Args:
        session: The session; it is closed at the end. After an interruption, the episode goes on
            with the prompt that waits for a reply.
        generate: Samples a reply to a prompt. What it raises is a fault of the agent.

    Returns:
        The trajectory.

    Raises:
        ConfigError: See ``TokenSession``.
        ReplyInterruptedError: ``generate`` raised it. The session waits: play it again to go on, or
            close it.
    """
    waits = False
    try:
        session.resume()
        while True:
            prompt = session.prompt or await session.begin()
            while prompt is not None:
                prompt = await _answer(session, prompt, generate)
            if not session.retry():
                return session.trajectory
    except ReplyInterruptedError:
        waits = True
        session.pause()
        raise
    finally:
        if not waits:
            await session.aclose()


async def _answer(
    session: TokenSession, prompt: Prompt, generate: Callable[[Prompt], Awaitable[Sampled | None]]
) -> Prompt | None:
    try:
        sampled = await generate(prompt)
    except ReplyInterruptedError:
        raise
    except Exception as error:  # noqa: BLE001 - recorded, or raised by the session
        await session.abort(error)
        return None
    return await _feed(session, sampled)


async def _feed(session: TokenSession, sampled: Sampled | BaseException | None) -> Prompt | None:
    if isinstance(sampled, BaseException):
        await session.abort(sampled)
        return None
    if not isinstance(sampled, Sampled):
        await session.abort(ReplyError(f"The engine returned {sampled!r} instead of a Sampled."))
        return None
    result = await session.feed(
        sampled.ids,
        sampled.logprobs,
        versions=sampled.versions,
        complete=sampled.is_complete,
    )
    return result.prompt


async def play_batch(
    sessions: Sequence[TokenSession],
    generate: Callable[
        [list[Prompt]],
        Sequence[Sampled | BaseException | None]
        | Awaitable[Sequence[Sampled | BaseException | None]],
    ],
) -> list[Trajectory]:
    """Play episodes in lock step with a function that samples for many prompts together.

    The deadline of a turn does not count the time in which an episode waits for the others.

    Args:
        sessions: The sessions; they are closed at the end.
        generate: Samples a reply to each prompt, or returns an exception in its place. An exception
            that it raises ends all episodes that asked.

    Returns:
        The trajectories, in the order of the sessions.

    Raises:
        ConfigError: See ``TokenSession``. The other episodes end as well.
    """
    try:
        live = await _all(_begin(session) for session in sessions)
        pairs = [(s, p) for s, p in zip(sessions, live, strict=True) if p is not None]
        while pairs:
            for session, _ in pairs:
                session.resume()
            answers = await _ask(generate, [prompt for _, prompt in pairs])
            following = await _all(
                _feed_or_begin(session, answer)
                for (session, _), answer in zip(pairs, answers, strict=True)
            )
            pairs = [(s, p) for (s, _), p in zip(pairs, following, strict=True) if p is not None]
    finally:
        await asyncio.gather(*(session.aclose() for session in sessions))
    return [session.trajectory for session in sessions]


async def _begin(session: TokenSession) -> Prompt | None:
    """Begin an episode, and begin again while its reset fails and retries are left."""
    while (prompt := await session.begin()) is None and session.retry():
        pass
    session.pause()
    return prompt


async def _feed_or_begin(session: TokenSession, answer: Any) -> Prompt | None:
    prompt = await _feed(session, answer)
    session.pause()
    return await _begin(session) if prompt is None and session.retry() else prompt


async def _ask(generate: Callable[[list[Prompt]], Any], prompts: list[Prompt]) -> Sequence[Any]:
    try:
        answers = generate(prompts)
        if inspect.isawaitable(answers):
            answers = await answers
        answers = list(answers)
    except Exception as error:  # noqa: BLE001 - a fault of each episode
        return [error] * len(prompts)
    if len(answers) != len(prompts):
        wrong = ReplyError(f"The engine returned {len(answers)} replies to {len(prompts)} prompts.")
        return [wrong] * len(prompts)
    return answers


async def _all(work: Iterable[Awaitable[Any]]) -> list[Any]:
    """Wait for all, then raise the first error."""
    results = await asyncio.gather(*work, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results

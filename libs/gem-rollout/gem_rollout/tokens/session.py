"""One episode for a trainer that samples tokens itself.

A ``TokenSession`` gives the prompts and receives the sampled tokens (``begin`` and ``feed``).
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from gem_core.env import Env
from gem_core.errors import ConfigError, EpisodeEndedError
from gem_core.faults import error_record
from gem_core.lifetimes import Lifetime
from gem_core.seeding import check_seed, child_seed
from gem_rollout.episodes.episode import Episode, name_of
from gem_rollout.episodes.policy import FaultPolicy
from gem_rollout.episodes.pool import close_quietly
from gem_rollout.episodes.runner import Runner
from gem_rollout.episodes.threads import Threads
from gem_rollout.records.trajectory import Trajectory
from gem_rollout.tokens.agent import UNLIMITED, OneSequence, TokenAgent
from gem_rollout.tokens.limits import Limits
from gem_rollout.tokens.reply import Prompt, ReplyError, TurnResult, checked_reply
from gem_rollout.tokens.sampler import Request, Sampled
from gem_rollout.tokens.transcript import PromptTokens

__all__ = ["TokenSession"]


class TokenSession:
    """An episode whose tokens the caller samples.

    Its state, tokens and rewards are those of episode ``index`` of ``collect(..., seed=seed)``.
    Use it in one event loop, and close it if the episode does not reach its end. One that is
    dropped is closed soon after.

    Args:
        env: The environment, which the session closes; or a function that makes one, which retries
            need.
        tokenizer: A tokenizer of transformers.
        seed: Seed of the run.
        index: Number of the start state in the run, and of the row in a dataset.
        sample: Number of the episode among those that share the start state.
        limits: Limits of tokens. When no room is left for another turn, the last one is marked
            ``truncated``, with ``info["truncated_by"]``.
        system: The system message.
        template: More variables for the chat template.
        stop: Strings that end a reply.
        one_sequence: ``raise`` refuses prompts that do not extend the earlier tokens.
        logprobs: Whether replies without log-probabilities are refused (``required``) or not
            (``optional``).
        policy: What to do with faults of the environment and the engine, and deadlines. ``retry``
            repeats an episode in ``play_tokens`` and ``play_batch``. A ``ConfigError`` is raised
            in any case: it would end every episode.

    Raises:
        ConfigError: A parameter is invalid.
    """

    def __init__(
        self,
        env: Env | Callable[[], Env],
        tokenizer: Any,
        *,
        seed: int,
        index: int = 0,
        sample: int = 0,
        limits: Limits | None = None,
        system: str | None = None,
        template: Mapping[str, Any] | None = None,
        stop: Sequence[str] = (),
        one_sequence: OneSequence = "raise",
        logprobs: Literal["required", "optional"] = "required",
        policy: FaultPolicy | None = None,
    ) -> None:
        self._seed = check_seed(seed)
        for name, value in (("index", index), ("sample", sample)):
            if type(value) is not int or value < 0:
                raise ConfigError(f"{name} must be a non-negative int; got {value!r}.")
        if logprobs not in {"required", "optional"}:
            raise ConfigError(f"logprobs must be required or optional; got {logprobs!r}.")
        self._policy = policy or FaultPolicy()
        is_env = isinstance(env, Env) and not isinstance(env, type)
        self._make_env: Callable[[], Env] | None = None if is_env else env  # type: ignore[assignment]
        if self._policy.on_error == "retry" and self._make_env is None:
            raise ConfigError(
                "on_error='retry' plays an episode again in a new environment: pass a function "
                "that makes one, such as lambda: make(id), instead of an environment."
            )
        self._needs_logprobs = logprobs == "required"
        self._agent = _PushAgent(
            _Tokens(tokenizer),
            name="policy",
            limits=limits,
            stop=stop,
            seed=0,
            system=system,
            template=template,
            one_sequence=one_sequence,
        )
        trajectory = Trajectory("", "policy", index, child_seed(self._seed, index))
        trajectory.group, trajectory.sample = index, sample
        self._prompt: Prompt | None = None
        self._hold(None if self._make_env else env, trajectory)

    def _hold(self, env: Any, trajectory: Trajectory) -> None:
        self._play = _Play(env, self._agent, trajectory)
        self._lifetime = Lifetime(self, self._play.drop, what="session", error=EpisodeEndedError)

    @property
    def trajectory(self) -> Trajectory:
        """The episode so far; it is complete when there is no next prompt."""
        return self._play.trajectory

    @property
    def prompt(self) -> Prompt | None:
        """The prompt that waits for a reply; None if there is none."""
        return self._prompt

    async def begin(self) -> Prompt | None:
        """Reset the environment, and return the first prompt.

        Returns:
            The prompt; None if the reset failed and ``trajectory.error`` says why.

        Raises:
            ConfigError: The episode cannot be played like this: there are several agents, the
                tokenizer has no chat template, the prompt is too long, ...
            EpisodeEndedError: The session has begun already, or is closed.
            ForkError: This is a fork of the process that made the session.
        """
        self._lifetime.check()
        if self._play.task is not None or self._play.is_over:
            raise EpisodeEndedError("A session plays one episode: make a new one.")
        self.trajectory.started_at = time.time()
        work = self._play.run(self._make_env, self._policy, self._seed)
        self._play.task = asyncio.create_task(work)
        return await self._next()

    async def feed(
        self,
        ids: Iterable[int],
        logprobs: Iterable[float | None] | None = None,
        *,
        versions: Iterable[int | None] = (),
        complete: bool = True,
    ) -> TurnResult:
        """Take the tokens of a reply, step the environment, and return the result.

        Args:
            ids: The sampled tokens, with the one that ended the reply.
            logprobs: The log-probability of each, in nats. A token with None is not trained on.
            versions: The version of the policy that sampled each, None if it is unknown; may be
                empty.
            complete: Whether the reply ended by itself, and not at a limit of tokens.

        Raises:
            ConfigError: The next prompt cannot be made.
            EpisodeEndedError: There is no prompt to reply to, or the session is closed.
            ForkError: This is a fork of the process that made the session.
            ReplyError: The reply is refused, if faults are raised.
        """
        self._lifetime.check()
        prompt, error, is_over = self._prompt, self.trajectory.error, self._play.is_over
        if prompt is None or (is_over and error is None):
            raise EpisodeEndedError("There is no prompt to reply to: the episode has ended.")
        if is_over:  # a deadline was missed while the reply was sampled
            self._prompt = None
            return TurnResult(0.0, False, False, {}, None, error)
        turns = len(self.trajectory.turns)
        try:
            reply = checked_reply(
                prompt,
                ids,
                logprobs,
                versions=versions,
                complete=complete,
                end=self._agent.tokenizer.eos_token_id,
                needs_logprobs=self._needs_logprobs,
            )
        except ReplyError as refused:
            following = await self._next(refused)
        else:
            following = await self._next(reply)
        trajectory = self.trajectory
        if len(trajectory.turns) == turns:
            return TurnResult(0.0, False, False, {}, None, trajectory.error)
        turn = trajectory.turns[-1]
        ended = turn.terminated, turn.truncated
        return TurnResult(turn.reward, *ended, turn.info, following, trajectory.error)

    async def abort(self, error: BaseException) -> None:
        """End the episode with an error of the engine.

        Raises:
            Exception: The error, if faults are raised.
        """
        if self._prompt is not None and not self._play.is_over:
            await self._next(error)

    def retry(self) -> bool:
        """Prepare to begin again if the episode failed and the policy repeats such episodes.

        Returns:
            Whether to call ``begin`` again.
        """
        old, policy = self.trajectory, self._policy
        if old.error is None or policy.on_error != "retry" or len(old.failures) >= policy.retries:
            return False
        trajectory = Trajectory("", old.agent, old.index, old.seed)
        trajectory.group, trajectory.sample = old.group, old.sample
        trajectory.failures = [*old.failures, old.error]
        trajectory.attempts = old.attempts + 1
        self.close()
        self._hold(None, trajectory)
        return True

    def pause(self) -> None:
        """Stop the clock of the turn, while the reply waits for other episodes."""
        if self._prompt is not None and self._play.episode is not None:
            self._play.episode.deadline.pause()

    def resume(self) -> None:
        """Start the clock of the turn again."""
        if self._prompt is not None and self._play.episode is not None:
            self._play.episode.deadline.resume()

    def close(self) -> None:
        """End the episode and close the environment; may be called twice.

        A step in progress has a second to end. In a fork this does nothing.
        """
        if self._lifetime.is_open:
            self._play.close()
            self._lifetime.end()

    async def aclose(self) -> None:
        """Close, and wait until the environment is closed."""
        if self._lifetime.is_open:
            task = self._play.task
            self.close()
            if task is not None:
                await asyncio.wait([task])

    async def _next(self, reply: Sampled | BaseException | None = None) -> Prompt | None:
        """Pass on a reply, and wait for the next prompt or the end of the episode."""
        try:
            self._prompt = await self._agent.exchange(reply)
        except asyncio.CancelledError:
            self.close()
            raise
        task = self._play.task
        if self._prompt is None and task is not None:
            await asyncio.wait([task])
            self._raise_if_asked(task)
        return self._prompt

    def _raise_if_asked(self, task: "asyncio.Task[None]") -> None:
        """Raise the error that ended the episode, if it must be raised; else record it."""
        if task.cancelled():
            raise EpisodeEndedError("The session was closed.")
        error = task.exception()
        if error is None:
            error = self._play.episode.error if self._play.episode is not None else None
        elif self._play.episode is None and isinstance(error, Exception):  # it could not be made
            self.trajectory.error = error_record(error, "env")
        else:
            raise error
        asked = isinstance(error, ConfigError) or self._policy.on_error == "raise"
        if error is not None and asked:
            raise error


class _Play:
    """The state of a session: the environment, and the task that plays in it."""

    def __init__(self, env: Any, agent: "_PushAgent", trajectory: Trajectory) -> None:
        self.trajectory = trajectory
        self.episode: Episode | None = None
        self.task: asyncio.Task[None] | None = None
        self.is_over = False
        self._env = env
        self._agent = agent
        self._threads = Threads()

    async def run(self, make_env: Callable[[], Env] | None, policy: FaultPolicy, seed: int) -> None:
        """Play the episode to its end, and close its environment."""
        try:
            if make_env is not None:
                self._env = make_env()
            trajectory = self.trajectory
            trajectory.env_id = name_of(self._env)
            episode = Episode(
                self._env, self._agent, trajectory, trajectory.index, policy, run_seed=seed
            )
            self.episode = episode
            runner = Runner(self._threads, policy.turn_deadline)
            await runner.run(episode, episode.reset, episode.play)
            self.trajectory = episode.finish()
        finally:
            self.is_over = True
            self._close_env()
            self._threads.close()
            self._agent.end()

    def _close_env(self) -> None:
        if self.episode is None or not self.episode.abandoned:
            close_quietly(self._env)
        self._env = None

    def close(self) -> None:
        """End the episode, in the thread of its event loop."""
        self.is_over = True
        if self.task is None or self.task.get_loop().is_closed():
            self._close_env()
        elif not self.task.done():
            self.task.cancel()  # closes the environment when it is free

    def drop(self) -> None:
        """End the episode of a session that was dropped, in any thread."""
        if self.task is not None and not self.task.done():
            with contextlib.suppress(RuntimeError):  # the event loop is closed
                self.task.get_loop().call_soon_threadsafe(self.close)
                return
        self.close()


class _Tokens:
    """The tokenizer as a ``SamplingModel`` that others sample for."""

    context = 2**31

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self._special = frozenset(getattr(tokenizer, "all_special_ids", ()))

    def submit(self, request: Request) -> Awaitable[Sampled]:
        raise TypeError("A session's replies come from feed().")

    def text_of(self, sampled: Sampled) -> str:
        ids = sampled.ids
        if ids[-1] in self._special:
            ids = ids[:-1]
        text: str = self.tokenizer.decode(
            ids, skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        return text


class _PushAgent(TokenAgent):
    """Hands its prompts to a session and waits for the replies."""

    _asked: "asyncio.Future[Prompt | None] | None" = None
    _reply: "asyncio.Future[Sampled] | None" = None

    @property
    def tokenizer(self) -> Any:
        return self._sampler.tokenizer

    async def exchange(self, reply: Sampled | BaseException | None) -> Prompt | None:
        """Pass on a reply or an error, and wait for the next prompt; None at the end."""
        asked: asyncio.Future[Prompt | None] = asyncio.get_running_loop().create_future()
        self._asked = asked
        waiting, self._reply = self._reply, None
        if waiting is None or waiting.done():
            if reply is not None:
                return None  # the episode ended meanwhile, as a deadline was missed
        elif isinstance(reply, BaseException):
            waiting.set_exception(reply)
        elif reply is not None:
            waiting.set_result(reply)
        return await asked

    def end(self) -> None:
        """Tell the session that no prompt follows."""
        if self._asked is not None and not self._asked.done():
            self._asked.set_result(None)

    async def _sample(self, prompt: PromptTokens, request: Request) -> Sampled:
        reply: asyncio.Future[Sampled] = asyncio.get_running_loop().create_future()
        self._reply = reply
        room = None if request.max_new_tokens >= UNLIMITED else request.max_new_tokens
        shown = Prompt(
            prompt.ids,
            list(prompt.new),
            prompt.extends,
            room,
            self._stop,
            self._turn - 1,
            request.seed or 0,
        )
        if self._asked is not None and not self._asked.done():
            self._asked.set_result(shown)
        return await reply

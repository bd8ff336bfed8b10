"""A session: an environment that a client plays, and numbered calls of which none is done twice."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from gem_core.env import Env
from gem_serve.errors import SessionLostError, StaleError, error_reply

__all__ = ["KEPT", "Reply", "Session"]

KEPT = 8
"""Answers that a session keeps. So many calls of a session may be unanswered at the same time."""
_IDLE_SECONDS = 1.0
"""Seconds without a call after which a session that plays no episode can be parked."""

Reply = dict[str, Any]


class Session:
    """An environment that a client plays.

    A session that plays no episode can be *parked* while others wait for a slot: it is saved, and
    its environment is closed. Its next call makes the environment again.

    Args:
        name: Name of the environment on the server.
        env: The environment.
        patience: Seconds that its client waits for a slot; 0 if it does not wait, and then it
            keeps the slot that it has.
    """

    __slots__ = (
        "_env",
        "_lock",
        "_next",
        "_replies",
        "doing",
        "episode",
        "has_ended_episode",
        "is_new",
        "is_of_post",
        "link",
        "name",
        "patience",
        "saved",
        "steps",
        "used",
    )

    def __init__(self, name: str, env: Env, patience: float = 0.0) -> None:
        self.name = name
        self._env: Env | None = env
        self.patience = patience
        self.saved: bytes | None = None
        """Its state while it is parked."""
        self.doing: asyncio.Future[Any] | None = None
        """The call that is being done, in a thread or as a task."""
        self.has_ended_episode = False
        """Whether its last call ended an episode."""
        self.link: object | None = None
        """The connection that keeps it alive; None if there is none."""
        self.used = time.monotonic()
        self.steps = 0
        self.episode: str | None = None
        """Name of the episode that is being played; None before the first and after its end."""
        self.is_new = True
        """Whether its client does not know yet that it was opened."""
        self.is_of_post = False
        """Whether OpenEnv's ``POST /reset`` began it, whose clients do not end sessions."""
        self._next = 1
        self._replies: dict[int, asyncio.Future[Reply]] = {}
        self._lock = asyncio.Lock()

    @property
    def env(self) -> Env:
        """The environment.

        Raises:
            SessionLostError: The session is parked, or has ended.
        """
        if self._env is None:
            raise SessionLostError("The environment of this session is closed.")
        return self._env

    @env.setter
    def env(self, env: Env) -> None:
        self._env, self.saved = env, None

    @property
    def has_env(self) -> bool:
        """Whether it has an environment, and so a slot."""
        return self._env is not None

    @property
    def is_busy(self) -> bool:
        """Whether a call is being done."""
        return self._lock.locked()

    @property
    def can_be_parked(self) -> bool:
        """Whether it could give its slot to another session now."""
        if self._env is None or self.patience <= 0 or self.episode is not None or self.is_busy:
            return False
        return self.has_ended_episode or time.monotonic() - self.used > _IDLE_SECONDS

    def is_idle_since(self, moment: float) -> bool:
        """Return whether nothing has kept it alive since a moment of the monotonic clock."""
        return self.link is None and self.used < moment and not self.is_busy

    def take_env(self) -> Env | None:
        """Return the environment, which the session no longer has."""
        env, self._env = self._env, None
        return env

    async def answer(self, number: int | None, act: Callable[[], Awaitable[Reply]]) -> Reply:
        """Do a call in its turn, or return the answer that it had.

        Args:
            number: Its place among the calls of the session, from 1; None for the next.
            act: Does it.

        Raises:
            StaleError: It is not the next one, and its answer is not kept.
        """
        number = self._next if number is None else number
        if (reply := self._replies.get(number)) is None:
            if number != self._next:
                raise StaleError(
                    f"The next call of this session has the number {self._next}, and the answers "
                    f"of the last {KEPT} are kept; got {number}."
                )
            self._next += 1
            reply = self._replies[number] = asyncio.ensure_future(self._in_turn(act))
            self._replies.pop(number - KEPT, None)
        # A connection that breaks does not end the call.
        return await asyncio.shield(reply)

    async def after_calls(self, act: Callable[[], Awaitable[Reply]]) -> None:
        """Do something after the calls that came before."""
        await asyncio.ensure_future(self._in_turn(act))  # scheduled as they were

    async def _in_turn(self, act: Callable[[], Awaitable[Reply]]) -> Reply:
        async with self._lock:
            try:
                return await act()
            except Exception as error:  # noqa: BLE001 - it is the client's answer
                return error_reply(error)
            finally:
                self.used, self.doing = time.monotonic(), None

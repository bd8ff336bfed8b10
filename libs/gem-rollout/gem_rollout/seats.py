"""What episodes are played with: environments and agents, made when needed and used again.

Also the start states that the episodes of a group are forked from.
"""

import asyncio
import contextlib
import functools
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from gem_core.agent import Agent
from gem_core.env import Env
from gem_core.mixture import Component
from gem_core.observation import Info, Observation
from gem_rollout.threads import Threads

__all__ = ["Seats", "Start", "close_quietly"]


class _Closable(Protocol):
    def close(self) -> None: ...


def close_quietly(*things: _Closable | None) -> None:
    """Close things; what fails in it cannot be helped any more."""
    for thing in things:
        if thing is not None:
            with contextlib.suppress(Exception):
                thing.close()


class Start:
    """The state that the episodes of a group begin in."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.env: Env | None = None
        """In the start state, never stepped; None until an episode of the group was reset."""
        self.first: tuple[Observation, Info] = "", {}


class Seats:
    """Idle environments and agents of a run.

    Args:
        sources: The environments, by name.
        make_agent: Makes an agent.
        threads: Where environments that block are made, forked and closed.
        most_starts: Start states that are kept at a time.
    """

    def __init__(
        self,
        sources: Mapping[str, Component],
        make_agent: Callable[[], Agent],
        threads: Threads,
        most_starts: int,
    ) -> None:
        self._sources = sources
        self._make_agent = make_agent
        self._threads = threads
        self._envs: dict[str, list[Env]] = {name: [] for name in sources}
        self._agents: list[Agent] = []
        self._blocking: dict[str, bool] = {}
        self._agent_was_made = False
        self._starts: dict[tuple[str, int], Start] = {}
        self._most_starts = most_starts

    def was_made(self, source: str) -> bool:
        """Tell whether an environment of a source has been made before, and an agent."""
        return source in self._blocking and self._agent_was_made

    async def env(self, source: str, *, fresh: bool) -> tuple[Env, float]:
        """Return an environment, and the seconds that making it took.

        Args:
            source: The source's name.
            fresh: Make a new one, even if there is one.
        """
        if self._envs[source] and not fresh:
            return self._envs[source].pop(), 0.0
        started = time.perf_counter()
        env = await self._call(self._sources[source].make_env, self._blocking.get(source, False))
        self._blocking[source] = env.blocking
        return env, time.perf_counter() - started

    def agent(self, *, fresh: bool) -> Agent:
        """Return an agent."""
        if self._agents and not fresh:
            return self._agents.pop()
        agent = self._make_agent()
        self._agent_was_made = True
        return agent

    async def fork(self, env: Env) -> tuple[Env, float]:
        """Return a fork of an environment, and the seconds that it took."""
        started = time.perf_counter()
        fork = await self._call(env.fork, env.blocking)
        return fork, time.perf_counter() - started

    def give_back_env(self, source: str, env: Env) -> None:
        """Keep an environment for another episode."""
        self._envs[source].append(env)

    def give_back_agent(self, agent: Agent) -> None:
        """Keep an agent for another episode."""
        self._agents.append(agent)

    async def close_one(self, thing: Env | Agent) -> None:
        """Close what is not to be used again."""
        blocking = getattr(thing, "blocking", False)
        await self._call(functools.partial(close_quietly, thing), blocking)

    def start(self, group: tuple[str, int]) -> Start:
        """Return the start state of a source's group; of many, the oldest are given up."""
        if group not in self._starts:
            self._starts[group] = Start()
            unused = [number for number, one in self._starts.items() if not one.lock.locked()]
            if len(unused) > self._most_starts:
                self.end_start(unused[0])
        return self._starts[group]

    def end_start(self, group: tuple[str, int]) -> None:
        """Close the start state of a group."""
        start = self._starts.pop(group, None)
        if start is not None:
            close_quietly(start.env)

    async def _call(self, function: Callable[[], Any], blocking: bool) -> Any:  # noqa: FBT001
        """Call a function, in a thread if it blocks; cancelled, close what it made."""
        if not blocking:
            return function()
        running = self._threads.run(function)
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError:
            await asyncio.wait([running])
            if running.exception() is None:
                close_quietly(running.result())
            raise
        return running.result()

    def close(self) -> None:
        """Close everything that is idle."""
        for envs in self._envs.values():
            close_quietly(*envs)
            envs.clear()
        close_quietly(*self._agents)
        self._agents.clear()
        for start in self._starts.values():
            close_quietly(start.env)
        self._starts.clear()

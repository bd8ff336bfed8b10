"""The environments and agents of a run, made when needed and used again.

A mixture may have more components than can be held: then the environment that has been idle for the
longest time is closed before another is made. The pool also keeps the start states from which the
episodes of a group are forked.
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
from gem_rollout.episodes.threads import Threads

__all__ = ["EnvPool", "GroupStart", "close_quietly"]


_SPARE = 64
"""Idle environments that a run holds beside those of its episodes."""


class _Closable(Protocol):
    def close(self) -> None: ...


def close_quietly(*things: _Closable | None) -> None:
    """Close things and ignore errors, for which it is too late."""
    for thing in things:
        if thing is not None:
            with contextlib.suppress(Exception):
                thing.close()


class GroupStart:
    """The state in which the episodes of a group begin."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.env: Env | None = None
        """An environment in the start state, never stepped; None before the first reset."""
        self.first: tuple[Observation, Info] = "", {}
        self.options: dict[str, Any] | None = None
        """Options of the reset, besides the seed."""


class EnvPool:
    """Idle environments and agents of a run.

    Args:
        components: The environments, by name.
        make_agent: Makes an agent.
        threads: Where environments that block are made, forked and closed.
        concurrency: Most episodes at the same time. ``_SPARE`` more environments are kept, and one
            start state more.
    """

    def __init__(
        self,
        components: Mapping[str, Component],
        make_agent: Callable[[], Agent],
        threads: Threads,
        concurrency: int,
    ) -> None:
        self._components = components
        self._make_agent = make_agent
        self._threads = threads
        self._idle: list[tuple[str, Env]] = []
        """Environments and their components; the one used last at the end."""
        self._made: set[int] = set()
        """The identities of the environments that were made and not discarded."""
        self._most_envs = concurrency + _SPARE
        self._agents: list[Agent] = []
        self._blocking: dict[str, bool] = {}
        self._agent_was_made = False
        self._starts: dict[tuple[str, int], GroupStart] = {}
        self._most_starts = concurrency + 1

    def was_made(self, component: str) -> bool:
        """Return whether an agent and an environment of a component have been made before."""
        return component in self._blocking and self._agent_was_made

    async def take_env(self, component: str, *, fresh: bool) -> tuple[Env, float]:
        """Return an environment, and the seconds that making it took.

        Args:
            component: Name of the component.
            fresh: Make a new one even if one is idle.
        """
        if not fresh:
            for position in reversed(range(len(self._idle))):
                if self._idle[position][0] == component:
                    return self._idle.pop(position)[1], 0.0
        while self._idle and len(self._made) >= self._most_envs:
            await self.discard_env(self._idle.pop(0)[1])
        started = time.perf_counter()
        blocking = self._blocking.get(component, False)
        env = await self._call(self._components[component].make_env, blocking)
        self._made.add(id(env))
        self._blocking[component] = env.blocking
        return env, time.perf_counter() - started

    def take_agent(self, *, fresh: bool) -> Agent:
        """Return an agent; a new one if ``fresh`` or if none is idle."""
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

    def give_back_env(self, component: str, env: Env) -> None:
        """Keep an environment for another episode."""
        self._idle.append((component, env))

    def give_back_agent(self, agent: Agent) -> None:
        """Keep an agent for another episode."""
        self._agents.append(agent)

    async def discard_env(self, env: Env) -> None:
        """Close an environment that must not be used again."""
        self._made.discard(id(env))
        await self._call(functools.partial(close_quietly, env), env.blocking)

    def group_start(self, group: tuple[str, int]) -> GroupStart:
        """Return the start state of a component's group; if there are too many, drop the oldest."""
        if group not in self._starts:
            self._starts[group] = GroupStart()
            unused = [number for number, one in self._starts.items() if not one.lock.locked()]
            if len(unused) > self._most_starts:
                self.drop_start(unused[0])
        return self._starts[group]

    def drop_start(self, group: tuple[str, int]) -> None:
        """Close the start state of a group, if there is one."""
        start = self._starts.pop(group, None)
        if start is not None:
            close_quietly(start.env)

    async def _call(self, function: Callable[[], Any], blocking: bool) -> Any:  # noqa: FBT001
        """Call a function, in a thread if it blocks; if cancelled, close its result."""
        if not blocking:
            return self._threads.call_inline(function)
        running = self._threads.run(function)
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError:
            abandoned = await self._threads.cancel(running, close_quietly)
            if not abandoned and running.exception() is None:
                close_quietly(running.result())
            raise
        return running.result()

    def take_all(self) -> list[Any]:
        """Return all idle environments, agents and start states; the caller closes them."""
        starts = [one.env for one in self._starts.values() if one.env is not None]
        found = [*(env for _, env in self._idle), *starts, *self._agents]
        self._idle.clear()
        self._agents.clear()
        self._starts.clear()
        return found

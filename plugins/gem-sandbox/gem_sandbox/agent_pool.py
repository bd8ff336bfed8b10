"""Pools of agents, which all sandboxes of one kind in a process share."""

import atexit
import os
import threading
from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any, Protocol, TypeVar

from gem_core.errors import SandboxError
from gem_core.sandbox import Execution
from gem_sandbox.agents import Agent, Launcher

__all__ = ["AgentPool", "Pool", "SharedPools", "shared_pools"]


class AgentPool:
    """Agents for one kind of sandbox, started when they are first needed.

    Args:
        launcher: Starts agents.
        size: How many programs run at a time.
    """

    def __init__(self, launcher: Launcher, size: int) -> None:
        self._launcher, self._size = launcher, size
        self._start_empty()

    def _start_empty(self) -> None:
        self._slots = threading.BoundedSemaphore(self._size)
        self._lock = threading.Lock()
        self._idle: list[Agent] = []
        self._agents: set[Agent] = set()

    def run(self, request: dict[str, Any], timeout: float) -> Execution:
        """Have an agent run a program; an agent that was found dead is replaced once."""
        with self._slots:
            for _ in range(2):
                agent = self.take()
                try:
                    if not agent.begin(request):
                        continue
                    execution, _ = agent.execution(timeout)
                    return execution
                finally:
                    self.give(agent)
        raise SandboxError("The sandbox's agents end as soon as they are asked.")

    def take(self) -> Agent:
        """Return an agent that is ready, started if need be."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
        agent = Agent(self._launcher.launch())
        with self._lock:
            self._agents.add(agent)
        try:
            agent.wait_until_clean()
        except BaseException:
            self._end(agent)
            raise
        return agent

    def give(self, agent: Agent) -> None:
        """Take an agent back once it is clean; one that cannot be cleaned is ended."""
        try:
            agent.wait_until_clean()
        except SandboxError:
            self._end(agent)
            return
        except BaseException:
            self._end(agent)
            raise
        with self._lock:
            if agent in self._agents and len(self._idle) < self._size:
                self._idle.append(agent)
                return
        self._end(agent)

    def _end(self, agent: Agent) -> None:
        with self._lock:
            self._agents.discard(agent)
        agent.channel.kill()

    def close(self) -> None:
        """End all agents, also those that are at work."""
        with self._lock:
            agents, self._agents, self._idle = self._agents, set(), []
        for agent in agents:
            agent.channel.kill()
        self._launcher.close()

    def forget(self) -> None:
        """Start anew in a forked process; the agents are those of its parent."""
        agents = self._agents
        self._start_empty()
        for agent in agents:
            agent.channel.abandon()


class Pool(Protocol):
    """What can be shared: it can be closed, and left to the parent of a forked process."""

    def close(self) -> None:
        """End all processes."""

    def forget(self) -> None:
        """Start anew in a forked process; the processes are those of its parent."""


P = TypeVar("P", bound=Pool)


class SharedPools:
    """The pools of this process, by what their sandboxes have in common."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pools: dict[Hashable, Any] = {}
        self._users: Counter[Hashable] = Counter()
        atexit.register(self.close)
        os.register_at_fork(after_in_child=self._forget)

    def lease(self, key: Hashable, make: Callable[[], P]) -> P:
        """Return the pool of a key, made if need be; ``release`` it as often as it is leased."""
        with self._lock:
            if key not in self._pools:
                self._pools[key] = make()
            self._users[key] += 1
            return self._pools[key]  # type: ignore[no-any-return]

    def release(self, key: Hashable) -> None:
        """Close the pool of a key if nobody else has leased it."""
        with self._lock:
            self._users[key] -= 1
            pool = None if self._users[key] > 0 else self._pools.pop(key, None)
        if pool is not None:
            pool.close()

    def close(self) -> None:
        """Close all pools."""
        for pool in list(self._pools.values()):
            pool.close()

    def _forget(self) -> None:
        self._lock = threading.Lock()
        for pool in self._pools.values():
            pool.forget()


shared_pools = SharedPools()

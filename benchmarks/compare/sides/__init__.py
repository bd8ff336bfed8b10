"""Adapters that give both libraries the same functions.

``gem_core.py`` and ``gem_llm.py`` have a class ``Library`` each and contain all differences between
the libraries. The measurements use the same code on both sides.
"""

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

__all__ = ["Side", "load_side"]


class Side(Protocol):
    """The interface of an adapter."""

    def ids(self) -> list[str]:
        """Return the ids of all games."""

    def make(self, env_id: str) -> Any:
        """Make one environment without resetting it."""

    def make_vec(self, env_id: str, num_envs: int, executor: str) -> Any:
        """Make a vector; ``executor`` is one of the library's own kinds."""

    def close_vec(self, vec: Any) -> None:
        """End a vector's threads and processes, where the library can."""

    def make_straggling_vec(self, env_id: str, delays: Sequence[float]) -> Any:
        """Make a vector on threads with an environment per delay, which sleeps in each step."""

    def exchange(self, vec: Any, actions: dict[int, str], wait_for: int) -> list[int]:
        """Send actions, and return the environments ready next; ``wait_for`` if possible."""

    def make_echo(self, observation: str) -> Any:
        """Make an environment that always returns ``observation``, under the text history."""

    def rows(self, rows: Sequence[Mapping[str, Any]]) -> Any:
        """Return rows in memory in the library's form."""

    def make_task(self, family: str, rows: Any) -> Any:
        """Make an environment of ``math`` or ``qa`` over what ``rows`` returned."""

    def make_task_vec(self, family: str, rows: Any, num_envs: int) -> Any:
        """Make a vector of them on threads."""

    def close_env(self, env: Any) -> None:
        """End the processes of an environment, if the library can."""

    def make_tool(self, sandbox: str) -> Callable[[str], str]:
        """Make a Python tool: from an action with a program in it to what the agent is shown.

        Args:
            sandbox: The library's name of the sandbox.
        """

    def make_judge(self, rows: Any, sandbox: str) -> Any:
        """Make an environment of programming problems over what ``rows`` returned."""

    def make_mcp(self, config: Any) -> Callable[[str], str]:
        """Make an environment with the tools of MCP servers: from an action to what it shows.

        Args:
            config: A mapping with ``mcpServers``.
        """

    def make_search(self, url: str) -> Callable[[str], str]:
        """Make an environment with the search tool: from an action to what it shows.

        Args:
            url: URL of the retrieval server; empty to search in process.
        """

    def grade(self, answer: str, gold: str) -> bool:
        """Return whether a mathematical answer is right, without an environment."""


def load_side(name: str) -> Side:
    """Return a library by the name of its module here; imports the library."""
    side: Side = importlib.import_module(f"compare.sides.{name}").Library()
    return side

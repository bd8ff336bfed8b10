"""Lets an agent call tools, with gem-core's tool wrapper."""

import logging
from collections.abc import Sequence
from typing import Any

from gem.core import EnvWrapper
from gem.tools.base_tool import usable
from gem_core.wrappers.tools import ToolWrapper

__all__ = ["ToolEnvWrapper"]

logger = logging.getLogger("gem")


class ToolEnvWrapper(ToolWrapper, EnvWrapper):  # type: ignore[misc]  # spawn by keywords
    """Runs the tool calls that it finds in actions; see ``gem_core.wrappers.ToolWrapper``.

    Args:
        env: The environment.
        tools: ``BaseTool``s, tools of gem-core, or objects with the methods of a ``BaseTool``.
        tool_reward: Reward of each call.
        tool_success_reward: Added for a call that succeeds.
        tool_execute_error_reward: Reward of a call that fails, if not 0; negative, and the other
            two are 0 then.
        max_tool_uses: Maximum number of calls in one episode; None for no limit.

    Raises:
        ConfigError: Rewards that exclude one another, or a negative limit.
    """

    layer = None  # type: ignore[assignment]  # gem-llm takes any order

    def __init__(
        self,
        env: Any,
        tools: Sequence[Any],
        tool_reward: float = 0.0,
        tool_success_reward: float = 0.0,
        tool_execute_error_reward: float = 0.0,
        max_tool_uses: int | None = 10,
    ) -> None:
        super().__init__(
            env,
            tools=usable(tools),
            tool_reward=tool_reward,
            tool_success_reward=tool_success_reward,
            tool_execute_error_reward=tool_execute_error_reward,
            max_tool_uses=max_tool_uses,
        )
        self._running = True  # environments may be played without a reset

    def step(self, action: Any, verbose: bool = False) -> Any:
        """Run a call, or step the environment.

        Args:
            action: Text by the agent.
            verbose: Log the tool and its output.
        """
        step = super().step(action)
        if verbose and step[4].get("use_tool"):
            logger.info("Tool %s: %s", step[4]["tool_type"], step[0])
        return step

    def get_state(self) -> dict[str, Any]:
        """Return the environment's state, with the counters of calls."""
        return {**self.env.get_state(), **self._counters()}  # type: ignore[attr-defined]

    def set_state(self, state: dict[str, Any]) -> None:
        """Take over a state from ``get_state``, or from the environment alone."""
        rest = dict(state)
        self.tool_use_counter = rest.pop("tool_use_counter", 0)
        self.tool_success_counter = rest.pop("tool_success_counter", 0)
        self._running = True
        self.env.set_state(rest)  # type: ignore[attr-defined]

"""Tasks in the format of MCPMark, done with the tools of MCP servers."""

from typing import Any

from gem.envs.ended import RepeatsItsEnd
from gem.requirements import needs

with needs("gem-tools"):
    from gem_tools.mcpmark import MCPMarkEnv as Tasks
    from gem_tools.mcpmark.env import SAMPLE_ENVIRONMENTS, SAMPLE_TASKS

__all__ = ["MCPMarkEnv"]


class MCPMarkEnv(RepeatsItsEnd):
    """Shows a task; the first step that calls no tool ends the episode and verifies the task.

    ``unwrapped.root`` is the folder of the task, for the configuration of the MCP server.

    Args:
        mcp_service: ``filesystem`` for the tasks that come with gem-tools, or a folder of tasks.
        tasks: ``all``, a category, or ``category/task``.
        seed: Seed of the order of tasks.
        environments: Folder with the initial state of each category, for a folder of tasks.
        kwargs: Ignored.

    Raises:
        DataError: There are no tasks.
        ConfigError: No task is selected.
    """

    def __init__(
        self,
        mcp_service: str,
        tasks: str = "all",
        seed: int = 42,
        *,
        environments: str | None = None,
        **kwargs: Any,
    ) -> None:
        is_sample = mcp_service == "filesystem"
        env = Tasks(
            tasks=SAMPLE_TASKS if is_sample else mcp_service,
            environments=SAMPLE_ENVIRONMENTS if is_sample else environments,
            select=tasks,
        )
        env.seed(seed)
        super().__init__(env)

    def step(self, action: Any) -> Any:
        """End the episode, and verify the task."""
        observation, reward, _, _, info = super().step(action)
        return observation, reward, True, True, info

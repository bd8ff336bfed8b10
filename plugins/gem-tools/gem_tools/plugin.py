"""The tools, wrappers that bring one with its rewards, servers. Nothing here imports a tool."""

from collections.abc import Iterator

from gem_core import CommandSpec, EnvSpec, ToolSpec, WrapperSpec, hookimpl
from gem_core.registry import Registry

__all__ = ["gem_register"]


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add the tools, the wrappers, the tasks for tools and the command that serves."""
    for spec in (*_tools(), *_wrappers(), *_search_wrappers()):
        registry.add(spec)
    registry.add(
        EnvSpec(
            id="mcp:Sample",
            entry_point="gem_tools.mcpmark:mcpmark",
            description="tasks in a folder of files, done with the tools of an MCP server",
            oracle="gem_tools.mcpmark:MCPMarkOracle",
            return_range=(0.0, 1.0),
        )
    )
    registry.add(
        CommandSpec(
            id="serve",
            entry_point="gem_tools.serve:command",
            description="Serve what environments and tools use",
        )
    )


def _tools() -> Iterator[ToolSpec]:
    yield ToolSpec(
        id="python",
        entry_point="gem_tools.python:PythonTool",
        description="runs Python programs, each by itself",
    )
    yield ToolSpec(
        id="python_session",
        entry_point="gem_tools.python:PythonSessionTool",
        description="runs Python that keeps its variables and files over an episode",
    )
    yield ToolSpec(
        id="search",
        entry_point="gem_tools.search.tool:SearchTool",
        description="searches a corpus, a retrieval server or the web",
    )
    yield ToolSpec(
        id="mcp",
        entry_point="gem_tools.mcp:MCPTool",
        description="calls the tools of MCP servers",
    )


def _wrappers() -> Iterator[WrapperSpec]:
    unpaid = {"tool_reward": 0.0, "tool_success_reward": 0.0}
    for name, kwargs, description in (
        ("", {}, "the tool python, calls paid 0.05 and 0.25 more if they succeed, at most 5"),
        ("_no_int_reward", unpaid, "the tool python, at most 5 calls"),
        (
            "_no_int_reward_last_line_error",
            {**unpaid, "keep_error_last_line": True},
            "the tool python, at most 5 calls, of errors the last line",
        ),
    ):
        yield WrapperSpec(
            id=f"python_tool{name}",
            entry_point="gem_tools.presets:python_tool",
            kwargs=kwargs,
            description=description,
        )


def _search_wrappers() -> Iterator[WrapperSpec]:
    for name, kwargs, description in (
        ("", {}, "the tool search, calls paid 0.3, at most 5"),
        ("_no_int_reward", {"tool_reward": 0.0}, "the tool search, at most 5 calls"),
    ):
        yield WrapperSpec(
            id=f"search_tool{name}",
            entry_point="gem_tools.presets:search_tool",
            kwargs=kwargs,
            description=description,
        )

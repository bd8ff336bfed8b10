"""The specs of the tools, their wrappers and servers; importing this imports no tool."""

from collections.abc import Iterator
from typing import Any

from gem_core import EnvSpec, ToolSpec, WrapperSpec, hookimpl
from gem_core.registry import Registry
from gem_core.specs import CALL_FORMATS, COMMANDS, Spec
from gem_tools.specs import SEARCH_BACKENDS, TASK_SERVICES

__all__ = ["gem_register"]

_SAMPLE = "package://gem_tools/mcpmark/sample"


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add the tools, call formats, search backends, wrappers, the environment and the command."""
    registry.add(*_tools(), *_call_formats(), *_search_backends(), *_wrappers())
    registry.add(*_search_wrappers(), *_task_services())
    registry.add(*_environments())
    registry.add(
        Spec(
            kind=COMMANDS,
            id="serve-search",
            entry_point="gem_tools.serve:command",
            description="Run a server for searches",
        )
    )


def _environments() -> Iterator[EnvSpec]:
    common: dict[str, Any] = {
        "entry_point": "gem_tools.mcpmark:mcpmark",
        "oracle": "gem_tools.mcpmark:MCPMarkOracle",
        "return_range": (0.0, 1.0),
    }
    about = {"score": "1 if the task's check passes, 0 otherwise"}
    ours = {"data": "ours, in gem-tools", "license": "Apache-2.0"}
    yield EnvSpec(
        id="mcp:Sample",
        description="tasks in a folder of files, done with the tools of an MCP server",
        metadata={
            "teaches": "to work with the tools of an MCP server",
            **about,
            "needs": "gem-tools[mcp]",
            **ours,
        },
        **common,
    )
    yield EnvSpec(
        id="mcp:Postgres-Sample",
        description="tasks in a PostgreSQL database, done with the tools of an MCP server",
        kwargs={
            "tasks": f"{_SAMPLE}/tasks/postgres",
            "service": "postgres",
        },
        metadata={
            "teaches": "to query, change and protect a database",
            **about,
            "needs": "gem-tools[mcp,postgres], PostgreSQL",
            **ours,
        },
        **common,
    )
    yield EnvSpec(
        id="mcp:Browser-Sample",
        description="tasks at small web sites, done with the tools of a browser",
        kwargs={
            "tasks": f"{_SAMPLE}/tasks/playwright",
            "service": "playwright",
            "context": "The site is at {home}. The browser reaches nothing else.",
            "tool": {"execution_timeout": 120.0},
        },
        metadata={
            "teaches": "to find things and fill in forms with the tools of a browser",
            **about,
            "needs": "gem-tools[browser], Chromium",
            **ours,
        },
        **common,
    )
    yield EnvSpec(
        id="mcp:MCPMark",
        description="tasks of the MCPMark benchmark from a checkout of it, with data=",
        check_kwargs={
            "data": _SAMPLE,
            "suite": "all",
            "environments": f"{_SAMPLE}/environments",
        },
        metadata={
            "teaches": "to work with the tools of an MCP server",
            **about,
            "needs": "gem-tools[mcp], data=",
            "data": "yours",
            "license": "yours",
        },
        **{**common, "entry_point": "gem_tools.mcpmark:benchmark"},
    )


def _tools() -> Iterator[ToolSpec]:
    yield ToolSpec(
        id="python",
        entry_point="gem_tools.python:PythonTool",
        description="runs Python programs, each on its own",
        examples=("<python>print(6 * 7)</python>",),
    )
    yield ToolSpec(
        id="python_session",
        entry_point="gem_tools.python:PythonSessionTool",
        description="runs Python that keeps variables and files during an episode",
        examples=("<python>x = 6\nprint(x * 7)</python>",),
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


def _call_formats() -> Iterator[Spec]:
    yield Spec(
        kind=CALL_FORMATS,
        id="hermes",
        entry_point="gem_tools.formats.marked:HermesFormat",
        description="JSON between <tool_call> tags, as Hermes and Qwen models write it",
    )
    yield Spec(
        kind=CALL_FORMATS,
        id="fenced",
        entry_point="gem_tools.formats.marked:FencedFormat",
        description="JSON in code fences with the language tool_call",
    )
    yield Spec(
        kind=CALL_FORMATS,
        id="openai",
        entry_point="gem_tools.formats.openai:OpenAIFormat",
        description="assistant messages with tool_calls",
    )


def _search_backends() -> Iterator[Spec]:
    for name, entry_point, description, needs in (
        ("bm25", "local:Bm25Backend", "a corpus, in this process", ""),
        ("http", "http:HttpBackend", "a retrieval server", "a server"),
        ("serp", "serp:SerpBackend", "the web, by SerpApi", "an API key"),
        ("google", "google:GoogleBackend", "the web, by Google's search", "an API key"),
    ):
        yield Spec(
            kind=SEARCH_BACKENDS,
            id=name,
            entry_point=f"gem_tools.search.{entry_point}",
            description=description,
            metadata={"needs": needs} if needs else {},
        )


def _wrappers() -> Iterator[WrapperSpec]:
    unpaid = {"tool_reward": 0.0, "tool_success_reward": 0.0}
    for name, kwargs, description in (
        ("", {}, "the tool python: 0.05 for a call, 0.25 more for success, at most 5"),
        ("_no_int_reward", unpaid, "the tool python, at most 5 calls"),
        (
            "_no_int_reward_last_line_error",
            {**unpaid, "keep_error_last_line": True},
            "the tool python, at most 5 calls, only the last line of errors",
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
        ("", {}, "the tool search: 0.3 for a call, at most 5"),
        ("_no_int_reward", {"tool_reward": 0.0}, "the tool search, at most 5 calls"),
    ):
        yield WrapperSpec(
            id=f"search_tool{name}",
            entry_point="gem_tools.presets:search_tool",
            kwargs=kwargs,
            description=description,
        )


def _task_services() -> Iterator[Spec]:
    for name, description in (
        ("filesystem", "a folder of files"),
        ("playwright", "a small web site and a browser"),
        ("postgres", "a database in a private PostgreSQL cluster"),
    ):
        yield Spec(
            kind=TASK_SERVICES,
            id=name,
            entry_point=f"gem_tools.mcpmark.services.{name}:{name.title()}Service",
            description=description,
        )

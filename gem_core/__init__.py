"""gem-core: a gym for agentic LLMs. Environments, tools and wrappers come as plugins.

Names are imported when they are first used, so that ``import gem_core`` stays light.
"""

from typing import TYPE_CHECKING

from gem_core.lazy import lazy_names

if TYPE_CHECKING:
    from gem_core.agent import Agent, BaseAgent, Reply
    from gem_core.api import (
        find_envs,
        list_envs,
        make,
        make_agent,
        make_tool,
        make_vec,
        register,
        spec,
    )
    from gem_core.env import AsyncEnv, BaseEnv, Env, Step, Wrapper
    from gem_core.errors import GemError
    from gem_core.hookspecs import hookimpl
    from gem_core.observation import Action, Info, Observation, visible_text
    from gem_core.secret import Secret
    from gem_core.specs import (
        AgentSpec,
        EnvSpec,
        Spec,
        ToolSpec,
        WrapperSpec,
    )
    from gem_core.tool import BaseTool, Function, Tool, ToolCall, ToolResult

__version__ = "0.1.0rc1"

_MODULES = {
    "agent": ("Agent", "BaseAgent", "Reply"),
    "api": (
        "find_envs",
        "list_envs",
        "make",
        "make_agent",
        "make_tool",
        "make_vec",
        "register",
        "spec",
    ),
    "env": ("AsyncEnv", "BaseEnv", "Env", "Step", "Wrapper"),
    "errors": ("GemError",),
    "hookspecs": ("hookimpl",),
    "observation": ("Action", "Info", "Observation", "visible_text"),
    "secret": ("Secret",),
    "specs": (
        "AgentSpec",
        "EnvSpec",
        "Spec",
        "ToolSpec",
        "WrapperSpec",
    ),
    "tool": ("BaseTool", "Function", "Tool", "ToolCall", "ToolResult"),
}

__all__ = [
    "Action",
    "Agent",
    "AgentSpec",
    "AsyncEnv",
    "BaseAgent",
    "BaseEnv",
    "BaseTool",
    "Env",
    "EnvSpec",
    "Function",
    "GemError",
    "Info",
    "Observation",
    "Reply",
    "Secret",
    "Spec",
    "Step",
    "Tool",
    "ToolCall",
    "ToolResult",
    "ToolSpec",
    "Wrapper",
    "WrapperSpec",
    "__version__",
    "find_envs",
    "hookimpl",
    "list_envs",
    "make",
    "make_agent",
    "make_tool",
    "make_vec",
    "register",
    "spec",
    "visible_text",
]


__getattr__, __dir__ = lazy_names(__name__, _MODULES)

"""gem-core: a gym for agentic LLMs. Environments, tools and wrappers come as plugins.

Names are imported when they are first used, so that ``import gem_core`` stays light.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gem_core.agent import Agent, BaseAgent, Generation, Reply
    from gem_core.agent_view import as_single
    from gem_core.api import (
        find,
        list_envs,
        make,
        make_agent,
        make_sandbox,
        make_tool,
        make_vec,
        print_envs,
        register,
        spec,
    )
    from gem_core.env import AsyncEnv, BaseEnv, Env, Layer, Step, Wrapper
    from gem_core.errors import GemError
    from gem_core.function_tool import FunctionTool, ToolSet, as_tool
    from gem_core.hookspecs import hookimpl
    from gem_core.multi_agent import AgentSelector, MultiAgentEnv, MultiAgentStep
    from gem_core.observation import Action, Info, Observation, visible_text
    from gem_core.rollout import Trajectory, Turn, collect, play_agents
    from gem_core.sandbox import Execution, Program, Sandbox, SandboxSession
    from gem_core.specs import (
        AgentSpec,
        CallFormatSpec,
        CommandSpec,
        EnvSpec,
        ExecutorSpec,
        Family,
        FamilySpec,
        SandboxSpec,
        ToolSpec,
        WrapperSpec,
    )
    from gem_core.tool import BaseTool, Function, Tool, ToolCall, ToolResult
    from gem_core.vector import VectorEnv

__version__ = "0.1.0"

_MODULES = {
    "agent": ("Agent", "BaseAgent", "Generation", "Reply"),
    "agent_view": ("as_single",),
    "api": (
        "find",
        "list_envs",
        "make",
        "make_agent",
        "make_sandbox",
        "make_tool",
        "make_vec",
        "print_envs",
        "register",
        "spec",
    ),
    "env": ("AsyncEnv", "BaseEnv", "Env", "Layer", "Step", "Wrapper"),
    "errors": ("GemError",),
    "function_tool": ("FunctionTool", "ToolSet", "as_tool"),
    "hookspecs": ("hookimpl",),
    "multi_agent": ("AgentSelector", "MultiAgentEnv", "MultiAgentStep"),
    "observation": ("Action", "Info", "Observation", "visible_text"),
    "rollout": ("Trajectory", "Turn", "collect", "play_agents"),
    "sandbox": ("Execution", "Program", "Sandbox", "SandboxSession"),
    "specs": (
        "AgentSpec",
        "CallFormatSpec",
        "CommandSpec",
        "EnvSpec",
        "ExecutorSpec",
        "Family",
        "FamilySpec",
        "SandboxSpec",
        "ToolSpec",
        "WrapperSpec",
    ),
    "tool": ("BaseTool", "Function", "Tool", "ToolCall", "ToolResult"),
    "vector": ("VectorEnv",),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "Action",
    "Agent",
    "AgentSelector",
    "AgentSpec",
    "AsyncEnv",
    "BaseAgent",
    "BaseEnv",
    "BaseTool",
    "CallFormatSpec",
    "CommandSpec",
    "Env",
    "EnvSpec",
    "Execution",
    "ExecutorSpec",
    "Family",
    "FamilySpec",
    "Function",
    "FunctionTool",
    "GemError",
    "Generation",
    "Info",
    "Layer",
    "MultiAgentEnv",
    "MultiAgentStep",
    "Observation",
    "Program",
    "Reply",
    "Sandbox",
    "SandboxSession",
    "SandboxSpec",
    "Step",
    "Tool",
    "ToolCall",
    "ToolResult",
    "ToolSet",
    "ToolSpec",
    "Trajectory",
    "Turn",
    "VectorEnv",
    "Wrapper",
    "WrapperSpec",
    "__version__",
    "as_single",
    "as_tool",
    "collect",
    "find",
    "hookimpl",
    "list_envs",
    "make",
    "make_agent",
    "make_sandbox",
    "make_tool",
    "make_vec",
    "play_agents",
    "print_envs",
    "register",
    "spec",
    "visible_text",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'gem_core' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"gem_core.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})

"""gem-core: a gym for agentic LLMs. Environments, tools and wrappers come as plugins.

Names are imported when they are first used, so that ``import gem_core`` stays light.
"""

from typing import TYPE_CHECKING, Any

from gem_core.lazy import lazy_names

if TYPE_CHECKING:
    from gem_core.agent import Agent, BaseAgent, Generation, Reply
    from gem_core.api import (
        find_envs,
        list_envs,
        make,
        make_agent,
        make_machine,
        make_machine_provider,
        make_sandbox,
        make_tool,
        make_vec,
        print_envs,
        register,
        spec,
    )
    from gem_core.env import AsyncEnv, BaseEnv, Env, Layer, Step, Wrapper
    from gem_core.errors import GemError
    from gem_core.hookspecs import hookimpl
    from gem_core.machine import MachineSpec
    from gem_core.observation import Action, Info, Observation, visible_text
    from gem_core.sandbox import Execution, Program, Sandbox, SandboxSession
    from gem_core.secret import Secret
    from gem_core.specs import (
        AgentSpec,
        CallFormatSpec,
        CheckSpec,
        CommandSpec,
        EnvSpec,
        ExecutorSpec,
        Family,
        FamilySpec,
        KindSpec,
        MachineProviderSpec,
        SandboxSpec,
        ToolSpec,
        WrapperSpec,
    )
    from gem_core.tool import BaseTool, Function, Tool, ToolCall, ToolResult
    from gem_core.vector import VectorEnv

__version__ = "0.1.0"

_MODULES = {
    "agent": ("Agent", "BaseAgent", "Generation", "Reply"),
    "api": (
        "find_envs",
        "list_envs",
        "make",
        "make_agent",
        "make_machine",
        "make_machine_provider",
        "make_sandbox",
        "make_tool",
        "make_vec",
        "print_envs",
        "register",
        "spec",
    ),
    "env": ("AsyncEnv", "BaseEnv", "Env", "Layer", "Step", "Wrapper"),
    "errors": ("GemError",),
    "hookspecs": ("hookimpl",),
    "machine": ("MachineSpec",),
    "observation": ("Action", "Info", "Observation", "visible_text"),
    "sandbox": ("Execution", "Program", "Sandbox", "SandboxSession"),
    "secret": ("Secret",),
    "specs": (
        "AgentSpec",
        "CallFormatSpec",
        "CheckSpec",
        "CommandSpec",
        "EnvSpec",
        "ExecutorSpec",
        "Family",
        "FamilySpec",
        "KindSpec",
        "MachineProviderSpec",
        "SandboxSpec",
        "ToolSpec",
        "WrapperSpec",
    ),
    "tool": ("BaseTool", "Function", "Tool", "ToolCall", "ToolResult"),
    "vector": ("VectorEnv",),
}
_MOVED = {
    "find": ("gem_core", "find_envs"),
    "FunctionTool": ("gem_tasks", "FunctionTool"),
    "ToolSet": ("gem_tasks", "ToolSet"),
    "as_tool": ("gem_tasks", "as_tool"),
    "AgentSelector": ("gem_rollout", "AgentSelector"),
    "MultiAgentEnv": ("gem_rollout", "MultiAgentEnv"),
    "MultiAgentStep": ("gem_rollout", "MultiAgentStep"),
    "Trajectory": ("gem_rollout", "Trajectory"),
    "Turn": ("gem_rollout", "Turn"),
    "as_single": ("gem_rollout", "as_single"),
    "collect": ("gem_rollout", "collect"),
    "play_agents": ("gem_rollout", "play_agents"),
}
"""Deprecated names, with the module that has them now and their name there."""

__all__ = [
    "Action",
    "Agent",
    "AgentSpec",
    "AsyncEnv",
    "BaseAgent",
    "BaseEnv",
    "BaseTool",
    "CallFormatSpec",
    "CheckSpec",
    "CommandSpec",
    "Env",
    "EnvSpec",
    "Execution",
    "ExecutorSpec",
    "Family",
    "FamilySpec",
    "Function",
    "GemError",
    "Generation",
    "Info",
    "KindSpec",
    "Layer",
    "MachineProviderSpec",
    "MachineSpec",
    "Observation",
    "Program",
    "Reply",
    "Sandbox",
    "SandboxSession",
    "SandboxSpec",
    "Secret",
    "Step",
    "Tool",
    "ToolCall",
    "ToolResult",
    "ToolSpec",
    "VectorEnv",
    "Wrapper",
    "WrapperSpec",
    "__version__",
    "find_envs",
    "hookimpl",
    "list_envs",
    "make",
    "make_agent",
    "make_machine",
    "make_machine_provider",
    "make_sandbox",
    "make_tool",
    "make_vec",
    "print_envs",
    "register",
    "spec",
    "visible_text",
]


_get, __dir__ = lazy_names(__name__, _MODULES)


def __getattr__(name: str) -> Any:
    if name in _MOVED:
        from gem_core.moved import moved_name  # noqa: PLC0415 - deprecated names only

        return moved_name(f"gem_core.{name}", *_MOVED[name])
    return _get(name)

"""Makes a whole stack: an environment, its tools and its wrappers.

A factory holds specs, not ids, so it works in every process that it is sent to.
"""

import contextlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gem_core.calls import CallFormat
from gem_core.env import BaseEnv, Env, Wrapper
from gem_core.errors import ConfigError
from gem_core.optional import seeded
from gem_core.resolve import configured, resolve
from gem_core.seeded_env import check_single_agent
from gem_core.specs import CALL_FORMATS, ENVS, TOOLS, WRAPPERS, EnvSpec, Spec, ToolSpec, WrapperSpec
from gem_core.tool import Tool, copy_of

__all__ = ["EnvFactory", "Part", "make_call_format", "make_factory"]

Part = str | Mapping[str, Any] | Spec | Callable[..., Any] | Tool
"""A tool or wrapper: an id, a mapping with an ``id`` and parameters, a spec, or a function.

A function returns a tool, or takes an environment and returns the wrapped one. A tool may also be
a ``Tool``, such as a function decorated with ``gem_tasks.as_tool``: every environment gets a copy
of it.
"""

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True, kw_only=True)
class EnvFactory:
    """Makes a stack each time it is called.

    Args:
        spec: The environment; its kwargs are complete.
        tools: Specs of tools, functions that return one, or tools to copy.
        wrappers: Specs of wrappers, or functions from an environment to the wrapped one; the first
            is the innermost.
        tool_use: Arguments of the wrapper that runs the tools.
        seed: Seed of the environment's random stream.
    """

    spec: EnvSpec
    tools: tuple[ToolSpec | Callable[[], Any] | Tool, ...] = ()
    wrappers: tuple[WrapperSpec | Callable[[Env], Env], ...] = ()
    tool_use: WrapperSpec | None = None
    seed: int | None = None

    def __call__(self) -> Env:
        """Make the stack.

        Raises:
            GemError: The environment, a tool or a wrapper cannot be made.
        """
        env: Env = self.spec.make()
        if not isinstance(env, BaseEnv | Wrapper | Env):
            raise ConfigError(
                f"{self.spec.kind} {self.spec.id!r}: {self.spec.entry_point} returned an "
                f"object of the class {type(env).__name__}, which is not an environment; derive "
                f"it from gem_core.BaseEnv."
            )
        try:
            with contextlib.suppress(AttributeError):  # a read-only spec stays as it is
                env.unwrapped.spec = self.spec
            if self.seed is not None:
                env = seeded(env, self.seed)
            return self._wrapped(env)
        except BaseException:
            env.close()
            raise

    def _wrapped(self, env: Env) -> Env:
        if self.tool_use is not None or self.wrappers:
            check_single_agent(env, "a wrapper")
        if self.tool_use is not None:
            tools = [_made(tool) for tool in self.tools]
            env = self.tool_use.load()(env, tools=tools, **self.tool_use.kwargs)
        for wrapper in self.wrappers:
            if isinstance(wrapper, WrapperSpec):
                env = wrapper.load()(env, **wrapper.kwargs)
            else:
                env = wrapper(env)
        return env


def make_factory(
    env_id: str | EnvSpec,
    *,
    tools: Sequence[Part] | None = (),
    wrappers: Sequence[Part] | None = (),
    tool_use: Mapping[str, Any] | None = None,
    seed: int | None = None,
    kwargs: Mapping[str, Any] | None = None,
) -> EnvFactory:
    """Resolve ids and check parameters; see ``gem_core.make`` for the arguments.

    Raises:
        UnknownIdError: An id is not registered.
        UnknownKwargError: A parameter that the environment, a tool or a wrapper does not accept.
        EntryPointError: An entry point cannot be loaded.
        ConfigError: Arguments of the wrong form, or parameters that exclude each other.
    """
    tool_wrapper = None
    if tools or tool_use is not None:
        options = {"id": "tools", **(tool_use or {})}
        if "call_format" in options:
            options["call_format"] = make_call_format(options["call_format"])
        tool_wrapper = resolve(WRAPPERS, options)
    return EnvFactory(
        spec=configured(resolve(ENVS, env_id), kwargs or {}),
        tools=tuple(_tool(part) for part in _parts("tools", tools)),
        wrappers=tuple(_wrapper(part) for part in _parts("wrappers", wrappers)),
        tool_use=tool_wrapper,
        seed=seed,
    )


def _parts(name: str, parts: Any) -> Iterable[Any]:
    if parts is None:
        return ()
    if isinstance(parts, str | Mapping) or not isinstance(parts, Iterable):
        raise ConfigError(f"{name} is a list of ids, mappings or functions; got {parts!r}.")
    return parts


def _tool(part: Part) -> Any:
    if callable(part):
        _check_makes_tool(part)
        return part
    return part if _is_tool(part) else resolve(TOOLS, part)  # type: ignore[arg-type]


def _wrapper(part: Part) -> Any:
    return part if callable(part) else resolve(WRAPPERS, part)  # type: ignore[arg-type]


def make_call_format(
    part: str | Mapping[str, Any] | CallFormat,
) -> CallFormat:
    """Return the call format of an id or a mapping; objects are returned as they are.

    Args:
        part: An id, a mapping with an ``id`` and parameters, or a ``CallFormat``.

    Raises:
        ConfigError: The part is something else, or a mapping without an id.
        UnknownIdError: The id is not registered.
        UnknownKwargError: A parameter that the format does not accept.
    """
    if isinstance(part, CallFormat):
        return part
    made: CallFormat = resolve(CALL_FORMATS, part).make()
    return made


def _is_tool(part: object) -> bool:
    return isinstance(part, Tool) and not isinstance(part, type)


def _check_makes_tool(part: Callable[..., Any]) -> None:
    """Reject a function that was meant as a tool itself: it has required parameters."""
    if isinstance(part, type) or _is_tool(part):
        return
    parameters = inspect.signature(part).parameters.values()
    needed = [p.name for p in parameters if p.default is p.empty and p.kind not in _VARIADIC]
    if needed:
        raise ConfigError(
            f"{part!r} cannot be called without {', '.join(needed)}. A function in tools=[...] "
            f"returns a tool; to use the function itself as a tool, decorate it with "
            f"@gem_tasks.as_tool."
        )


def _made(part: ToolSpec | Callable[[], Any] | Tool) -> Any:
    if isinstance(part, ToolSpec):
        return part.make()
    if _is_tool(part):
        return copy_of(part)  # type: ignore[type-var]
    tool = part()  # type: ignore[operator]
    if _is_tool(tool):
        return tool
    if hasattr(tool, "run"):
        raise ConfigError(
            f"The tool {type(tool).__name__} lacks {', '.join(_missing(tool))}. "
            f"gem_core.BaseTool has defaults for all members but name and run."
        )
    raise ConfigError(
        f"{part!r} in tools=[...] returned {tool!r}, which is not a tool. To use the function "
        f"itself as a tool, decorate it with @gem_tasks.as_tool."
    )


def _missing(tool: object) -> list[str]:
    """Return the members of a tool that an object lacks."""
    members = (*Tool.__annotations__, *vars(Tool))
    return [name for name in members if not name.startswith("_") and not hasattr(tool, name)]

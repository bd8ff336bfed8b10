"""Makes a whole stack: an environment, its tools, its wrappers.

A factory holds specs, not ids, so that it is complete in every process that it is sent to.
"""

import contextlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gem_core.calls.format import CallFormat
from gem_core.env import Env
from gem_core.errors import ConfigError
from gem_core.optional import seeded
from gem_core.plugins import default_registry
from gem_core.seeded_env import check_single_agent
from gem_core.specs import CallFormatSpec, EnvSpec, Spec, ToolSpec, WrapperSpec, check_kwargs
from gem_core.tool import Tool, copy_of

__all__ = ["EnvFactory", "Part", "make_call_format", "make_factory"]

Part = str | Mapping[str, Any] | Callable[..., Any] | Tool
"""A tool or wrapper: an id, a mapping with an ``id`` and arguments, or a function that makes one.

A tool may also be a ``Tool``, such as a function that is decorated with ``as_tool``: every
environment gets a copy of it.
"""

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True, kw_only=True)
class EnvFactory:
    """Makes a stack each time it is called.

    Args:
        spec: The environment; its kwargs are complete.
        tools: Specs of tools, functions that make one, or tools to be copied.
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
            GemError: Whatever keeps it from being made.
        """
        env: Env = self.spec.make()
        with contextlib.suppress(AttributeError):  # a read-only spec stays as it is
            env.unwrapped.spec = self.spec
        if self.seed is not None:
            env = seeded(env, self.seed)
        try:
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
    tools: Sequence[Part] = (),
    wrappers: Sequence[Part] = (),
    tool_use: Mapping[str, Any] | None = None,
    seed: int | None = None,
    kwargs: Mapping[str, Any] | None = None,
) -> EnvFactory:
    """Resolve ids and check arguments; see ``gem_core.make`` for the parameters.

    Raises:
        UnknownIdError: An id that nobody registered.
        UnknownKwargError: An argument that the environment, a tool or a wrapper does not take.
        EntryPointError: An entry point that cannot be loaded.
        ConfigError: Parameters that exclude one another.
    """
    for name, parts in (("tools", tools), ("wrappers", wrappers)):
        if isinstance(parts, str | Mapping) or not isinstance(parts, Iterable):
            raise ConfigError(f"{name} is a list of ids, mappings or functions; got {parts!r}.")
    spec = env_id if isinstance(env_id, EnvSpec) else default_registry().find(EnvSpec, env_id)
    tool_wrapper = None
    if tools or tool_use is not None:
        options = {"id": "tools", **(tool_use or {})}
        if "call_format" in options:
            options["call_format"] = make_call_format(options["call_format"])
        tool_wrapper = _resolve(WrapperSpec, options)
    return EnvFactory(
        spec=_checked(spec, kwargs or {}),
        tools=tuple(_resolve(ToolSpec, part) for part in tools),
        wrappers=tuple(_resolve(WrapperSpec, part) for part in wrappers),
        tool_use=tool_wrapper,
        seed=seed,
    )


def _resolve(kind: type[Spec], part: Part) -> Any:
    if isinstance(part, str):
        part = {"id": part}
    if not isinstance(part, Mapping):
        if kind is ToolSpec and callable(part):
            _check_makes_tool(part)
        elif not callable(part) and not _is_tool(part):
            raise ConfigError(f"A {kind.kind} is an id, a mapping or a function; got {part!r}.")
        return part
    kwargs = dict(part)
    if "id" not in kwargs:
        raise ConfigError(f"A {kind.kind} given as a mapping needs an 'id'; got {dict(part)!r}.")
    return _checked(default_registry().find(kind, kwargs.pop("id")), kwargs)


def make_call_format(
    part: str | Mapping[str, Any] | CallFormat,
) -> CallFormat | Literal["tags"]:
    """Return the call format of an id or a mapping; ``"tags"`` and objects are returned as is.

    Args:
        part: An id, a mapping with an ``id`` and arguments, or a ``CallFormat``.

    Raises:
        ConfigError: A mapping without an ``id``, or neither of the three.
        UnknownIdError: There is no such call format.
        UnknownKwargError: An argument that the format does not take.
    """
    if part == "tags":
        return "tags"
    if isinstance(part, CallFormat):
        return part
    made: CallFormat = _resolve(CallFormatSpec, part).make()
    return made


def _checked(spec: Any, kwargs: Mapping[str, Any]) -> Any:
    if kwargs:
        check_kwargs(spec.load(), kwargs, f"{spec.kind} {spec.id!r}")
    return spec.with_kwargs(**kwargs)


def _is_tool(part: object) -> bool:
    return isinstance(part, Tool) and not isinstance(part, type)


def _check_makes_tool(part: Callable[..., Any]) -> None:
    """Refuse a function that was meant as a tool itself: it has parameters to be called with."""
    if isinstance(part, type) or _is_tool(part):
        return
    parameters = inspect.signature(part).parameters.values()
    needed = [p.name for p in parameters if p.default is p.empty and p.kind not in _VARIADIC]
    if needed:
        raise ConfigError(
            f"{part!r} makes no tool: it needs {', '.join(needed)}. A function in tools=[...] "
            f"returns a tool; a function that is to be a tool is decorated with @gem_core.as_tool."
        )


def _made(part: ToolSpec | Callable[[], Any] | Tool) -> Any:
    if isinstance(part, ToolSpec):
        return part.make()
    if _is_tool(part):
        return copy_of(part)  # type: ignore[type-var]
    tool = part()  # type: ignore[operator]
    if not _is_tool(tool):
        raise ConfigError(
            f"{part!r} in tools=[...] returned {tool!r}, which is no tool. A function that is to "
            f"be a tool is decorated with @gem_core.as_tool."
        )
    return tool

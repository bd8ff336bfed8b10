"""Makes a whole stack: an environment, its tools, its wrappers.

A factory holds specs, not ids, so that it is complete in every process that it is sent to.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gem_core.env import Env
from gem_core.errors import ConfigError
from gem_core.plugins import default_registry
from gem_core.specs import EnvSpec, Spec, ToolSpec, WrapperSpec, check_kwargs

__all__ = ["EnvFactory", "Part", "make_factory"]

Part = str | Mapping[str, Any] | Callable[..., Any]
"""A tool or wrapper: an id, a mapping with an ``id`` and arguments, or a function."""


@dataclass(frozen=True, kw_only=True)
class EnvFactory:
    """Makes a stack each time it is called.

    Args:
        spec: The environment; its kwargs are complete.
        tools: Specs of tools, or functions that make one.
        wrappers: Specs of wrappers, or functions from an environment to the wrapped one; the first
            is the innermost.
        tool_use: Arguments of the wrapper that runs the tools.
        seed: Seed of the environment's random stream.
    """

    spec: EnvSpec
    tools: tuple[ToolSpec | Callable[[], Any], ...] = ()
    wrappers: tuple[WrapperSpec | Callable[[Env], Env], ...] = ()
    tool_use: WrapperSpec | None = None
    seed: int | None = None

    def __call__(self) -> Env:
        """Make the stack.

        Raises:
            GemError: Whatever keeps it from being made.
        """
        env: Env = self.spec.make()
        env.unwrapped.spec = self.spec
        if self.seed is not None:
            env.unwrapped.seed(self.seed)
        try:
            return self._wrapped(env)
        except BaseException:
            env.close()
            raise

    def _wrapped(self, env: Env) -> Env:
        if self.tool_use is not None:
            tools = [t.make() if isinstance(t, ToolSpec) else t() for t in self.tools]
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
        tool_wrapper = _resolve(WrapperSpec, {"id": "tools", **(tool_use or {})})
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
        if not callable(part):
            raise ConfigError(f"A {kind.kind} is an id, a mapping or a function; got {part!r}.")
        return part
    kwargs = dict(part)
    if "id" not in kwargs:
        raise ConfigError(f"A {kind.kind} given as a mapping needs an 'id'; got {dict(part)!r}.")
    return _checked(default_registry().find(kind, kwargs.pop("id")), kwargs)


def _checked(spec: Any, kwargs: Mapping[str, Any]) -> Any:
    if kwargs:
        check_kwargs(spec.load(), kwargs, f"{spec.kind} {spec.id!r}")
    return spec.with_kwargs(**kwargs)

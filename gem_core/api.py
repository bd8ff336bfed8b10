"""The functions that most programs need: make, vectorise, register, list."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gem_core.agent import Agent
from gem_core.env import Env
from gem_core.errors import ConfigError
from gem_core.factory import Part, make_factory
from gem_core.plugins import default_registry
from gem_core.resolve import configured, resolve
from gem_core.seeding import check_seed, child_seed
from gem_core.specs import AGENTS, ENVS, EXECUTORS, TOOLS, EntryPoint, EnvSpec, Kind
from gem_core.tool import Tool

if TYPE_CHECKING:
    from gem_core.vector import Autoreset, OnError, VectorEnv

__all__ = [
    "find_envs",
    "list_envs",
    "make",
    "make_agent",
    "make_tool",
    "make_vec",
    "print_envs",
    "register",
    "spec",
]


def make(
    env_id: str | EnvSpec,
    *,
    tools: Sequence[Part] | None = (),
    wrappers: Sequence[Part] | None = (),
    tool_use: Mapping[str, Any] | None = None,
    seed: int | None = None,
    **kwargs: Any,
) -> Env:
    r"""Make an environment; call ``reset`` to start its first episode.

    Args:
        env_id: An id such as ``game:GuessTheNumber-v0-easy``, or a spec.
        tools: What the agent may call: ids, mappings with an ``id`` and parameters, specs,
            functions that return a tool, or tools (such as functions decorated with
            ``gem_tasks.as_tool``), which are copied.
        wrappers: Wrappers, the innermost first: ids, mappings with an ``id`` and parameters,
            specs, or functions from an environment to the wrapped one. Tools are inside of all
            wrappers.
        tool_use: Parameters of the wrapper that runs the tools, such as ``max_tool_uses``.
        seed: Seeds the environment's random stream, so that ``reset()`` without a seed repeats.
        kwargs: Parameters of the environment; they override the registered ones.

    Raises:
        UnknownIdError: The id is not registered; the message suggests near ids, the distribution
            to install, or a broken plugin.
        UnknownKwargError: A parameter that the environment does not accept.
        ConfigError: A parameter has a value that it cannot have.
        EntryPointError: The environment's module cannot be imported.

    Example:
        >>> import gem_core
        >>> env = gem_core.make("game:GuessTheNumber-v0-easy", wrappers=["concat"])
        >>> observation, info = env.reset(seed=1)
        >>> step = env.step(r"I start in the middle: \boxed{5}")
    """
    return make_factory(
        env_id, tools=tools, wrappers=wrappers, tool_use=tool_use, seed=seed, kwargs=kwargs
    )()


def make_vec(
    env_ids: str | EnvSpec | Sequence[str | EnvSpec],
    *,
    num_envs: int | None = None,
    tools: Sequence[Part] | None = (),
    wrappers: Sequence[Part] | None = (),
    tool_use: Mapping[str, Any] | None = None,
    seed: int | None = None,
    vec_kwargs: Sequence[Mapping[str, Any]] | None = None,
    executor: str | Mapping[str, Any] = "serial",
    autoreset: "Autoreset" = "same_step",
    on_error: "OnError" = "raise",
    **kwargs: Any,
) -> "VectorEnv":
    """Make many environments behind one ``step``; see ``VectorEnv``.

    Args:
        env_ids: One id, or one per environment.
        num_envs: How many, if ``env_ids`` is one id; default 1.
        tools: As in ``make``; every environment gets its own.
        wrappers: As in ``make``.
        tool_use: As in ``make``.
        seed: Each environment gets a seed from this one and its index.
        vec_kwargs: Parameters per environment; they override ``kwargs``.
        executor: ``serial``, ``threads``, ``processes`` (in gem-workers) or another that is
            installed; or a mapping with an ``id`` and parameters, such as ``max_workers``.
            Gymnasium calls it ``vectorization_mode``.
        autoreset: ``same_step``, ``next_step`` or ``off``; see ``VectorEnv``.
        on_error: ``raise`` or ``truncate``; see ``VectorEnv``.
        kwargs: Parameters of every environment.

    Raises:
        ConfigError: The numbers of ids, environments and ``vec_kwargs`` differ.
        GemError: As in ``make``.
    """
    from gem_core.vector import VectorEnv  # noqa: PLC0415 - queues and threads only where used

    ids = _one_id_each(env_ids, num_envs)
    each = [{}] * len(ids) if vec_kwargs is None else list(vec_kwargs)
    if len(each) != len(ids) or not all(isinstance(one, Mapping) for one in each):
        raise ConfigError(f"vec_kwargs is a list of {len(ids)} mappings; got {vec_kwargs!r}.")
    factories = [
        make_factory(
            env_id,
            tools=tools,
            wrappers=wrappers,
            tool_use=tool_use,
            seed=None if seed is None else child_seed(check_seed(seed), index),
            kwargs={**kwargs, **own},
        )
        for index, (env_id, own) in enumerate(zip(ids, each, strict=True))
    ]
    return VectorEnv(
        factories,
        executor=resolve(EXECUTORS, executor).make(),
        autoreset=autoreset,
        on_error=on_error,
    )


def _one_id_each(
    env_ids: str | EnvSpec | Sequence[str | EnvSpec], num_envs: int | None
) -> list[str | EnvSpec]:
    if isinstance(env_ids, str | EnvSpec):
        if num_envs is not None and num_envs < 1:
            raise ConfigError(f"num_envs must be at least 1; got {num_envs}.")
        return [env_ids] * (num_envs or 1)
    ids = list(env_ids)
    if num_envs not in (None, len(ids)):
        raise ConfigError(f"num_envs is {num_envs}, but there are {len(ids)} ids.")
    return ids


def register(
    env_id: str,
    entry_point: EntryPoint,
    *,
    kwargs: Mapping[str, Any] | None = None,
    description: str = "",
    oracle: EntryPoint | None = None,
    return_range: tuple[float, float] | None = None,
    oracle_return: float | None = None,
    varies: bool = True,
    examples: Sequence[str] = (),
    metadata: Mapping[str, str] | None = None,
    **parameters: Any,
) -> EnvSpec:
    """Register an environment in this process; a plugin does it for every process.

    Args:
        env_id: ``namespace:rest``.
        entry_point: ``"package.module:Class"``, imported when it is first made, or a callable.
        kwargs: Parameters that it is made with.
        description: One line for listings.
        oracle: As in ``EnvSpec``.
        return_range: As in ``EnvSpec``.
        oracle_return: As in ``EnvSpec``.
        varies: As in ``EnvSpec``.
        examples: As in ``EnvSpec``.
        metadata: As in ``EnvSpec``.
        parameters: More parameters, written as keyword arguments; they override ``kwargs``.

    Raises:
        InvalidIdError: The id does not follow the grammar.
        DuplicateIdError: The id is taken.
        ConfigError: A field has a value that it cannot have.
    """
    new = EnvSpec(
        id=env_id,
        entry_point=entry_point,
        kwargs={**(kwargs or {}), **parameters},
        description=description,
        oracle=oracle,
        return_range=return_range,
        oracle_return=oracle_return,
        varies=varies,
        examples=tuple(examples),
        metadata=metadata or {},
    )
    default_registry().add(new)
    return new


def find_envs(pattern: str = "*") -> list[EnvSpec]:
    """Return the specs of the environments whose id matches, such as ``game:*-easy``."""
    return default_registry().list(ENVS, pattern)


def spec(env_id: str) -> EnvSpec:
    """Return the spec of an environment.

    Raises:
        UnknownIdError: The id is not registered.
    """
    return default_registry().find(ENVS, env_id)


def list_envs(pattern: str = "*") -> list[str]:
    """Return the ids of the environments that match a pattern, sorted."""
    return [found.id for found in find_envs(pattern)]


def print_envs(pattern: str = "*", *, write: Callable[[str], Any] = print) -> None:
    """Print id, entry point and parameters of the environments that match a pattern."""
    specs = find_envs(pattern)
    write(f"Environments: {len(specs)}")
    for found in specs:
        kwargs = ", ".join(f"{name}={value!r}" for name, value in found.kwargs.items())
        write(f"{found.id}  {found.entry_point}  {kwargs}".rstrip())


def make_tool(tool: str | Mapping[str, Any], **kwargs: Any) -> Tool:
    """Make a tool.

    Args:
        tool: An id (``python``, ``search``, ...), or a mapping with an ``id`` and parameters.
        kwargs: More parameters.

    Raises:
        ConfigError: The mapping has no id.
        UnknownIdError: The id is not registered.
        UnknownKwargError: A parameter that it does not accept.
    """
    return _make(TOOLS, tool, kwargs)  # type: ignore[no-any-return]


def make_agent(agent: str | Mapping[str, Any], **kwargs: Any) -> Agent:
    """Make an agent, such as ``random`` or ``oracle``; see ``make_tool``."""
    return _make(AGENTS, agent, kwargs)  # type: ignore[no-any-return]


def _make(kind: Kind[Any], part: str | Mapping[str, Any], kwargs: Mapping[str, Any]) -> Any:
    return configured(resolve(kind, part), kwargs).make()

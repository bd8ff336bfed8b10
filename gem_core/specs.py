"""Specs: descriptions of what can be made by name. Making one imports its entry point.

Ids of environments are ``namespace:rest``, for example ``game:Wordle-v0-easy``; other specs may
omit the namespace (``concat``). A config path writes the same id with slashes
(``game/Wordle-v0-easy``).
"""

import functools
import inspect
import re
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, Self, TypeVar

from gem_core.errors import (
    ConfigError,
    EntryPointError,
    InvalidIdError,
    NotInstalledError,
    UnknownKwargError,
    near_names,
)
from gem_core.modules import absolute, import_module, is_entry_point, is_file, place_of
from gem_core.stateful import copy_of

__all__ = [
    "AGENTS",
    "CALL_FORMATS",
    "COMMANDS",
    "ENVS",
    "EXECUTORS",
    "FAMILIES",
    "KINDS",
    "TOOLS",
    "WRAPPERS",
    "AgentSpec",
    "EnvSpec",
    "Family",
    "Kind",
    "Spec",
    "ToolSpec",
    "WrapperSpec",
    "check_kwargs",
    "load_entry_point",
]

_NAME = r"[A-Za-z0-9_.-]+"
_ID = re.compile(rf"(?:(?P<namespace>[A-Za-z_][A-Za-z0-9_.-]*):)?(?P<rest>{_NAME}(?:/{_NAME})*)")

EntryPoint = str | Callable[..., Any]
S = TypeVar("S", bound="Spec")


@dataclass(frozen=True, kw_only=True)
class Kind(Generic[S]):
    """A kind of spec: what its specs make, and where they are chosen.

    A library or a plugin declares it as a constant; it is known with the first spec of the kind.

    Args:
        id: Its name in ``gem-core list --kind``, such as ``losses``.
        name: One of its kind in messages, such as ``loss``.
        description: One line for listings.
        group: The group of Hydra that has these specs as options; empty for none.
        several: Whether the group takes a list, and each option has its own place in the config.
        given: Number of leading parameters of entry points that are not configuration, such as the
            environment to wrap.
        by_entry_point: Whether ``module:attribute`` or ``file.py:attribute`` can be written where
            an id is expected.
        check: Entry point of the check of its contract, which takes the id of a spec and returns a
            ``gem_core.testing.Report``, or None; empty if loading a spec is all there is to check.
        spec: Entry point of the class of its specs, if they have fields or methods of their own.
    """

    id: str
    name: str
    description: str
    group: str = ""
    several: bool = False
    given: int = 0
    by_entry_point: bool = False
    check: str = ""
    spec: str = ""

    def of(self, entry_point: str) -> S:
        """Return a spec of an entry point, which is its id too.

        The path of a file is resolved against the working directory now, not when it is loaded.
        """
        place = absolute(entry_point)
        if self.spec:
            made: S = load_entry_point(self.spec)(id=entry_point, entry_point=place)
            return made
        return Spec(kind=self, id=entry_point, entry_point=place)  # type: ignore[return-value]

    def __str__(self) -> str:
        """Return its name for messages."""
        return self.name


@dataclass(frozen=True, kw_only=True)
class Spec:
    """A description of something that can be made by name.

    Args:
        kind: Its kind.
        id: The name, ``namespace:rest`` or ``rest``; or the entry point, if it has no other name.
        entry_point: ``"package.module:attribute"``, or a callable.
        kwargs: Arguments of the entry point; the caller may override them.
        description: One line for listings.
        metadata: What a reader should know, by name. Of environments: ``teaches``, ``score`` (what
            a reward means), ``needs`` (software or data), ``data`` (where it comes from) and its
            ``license``.
        source: The distribution that registered it; the registry fills it in.
    """

    kind: Kind[Any]
    id: str
    entry_point: EntryPoint
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    description: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    source: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.id, str) and is_entry_point(self.id) and is_file(self.namespace):
            return
        match = _ID.fullmatch(self.id) if isinstance(self.id, str) else None
        needs_namespace = self.kind == ENVS
        if match is None or (needs_namespace and match["namespace"] is None):
            form = "namespace:rest" if needs_namespace else "rest or namespace:rest"
            raise InvalidIdError(
                f"{self.id!r} is not an id of the form {form}, with letters, digits, "
                f"'_', '.' and '-' (for example 'game:Wordle-v0-easy')."
            )

    @property
    def namespace(self) -> str:
        """The part before the colon; empty if there is none."""
        return self.id.rpartition(":")[0]

    @property
    def config_path(self) -> str:
        """The id as Hydra options write it: ``game/Wordle-v0-easy``."""
        return self.id.replace(":", "/", 1)

    def load(self) -> Callable[..., Any]:
        """Return the object that the entry point names.

        Raises:
            EntryPointError: It does not exist, or its module cannot be imported.
            NotInstalledError: It needs an extra that is not installed.
        """
        if callable(self.entry_point):
            return self.entry_point
        try:
            target: Callable[..., Any] = load_entry_point(self.entry_point)
        except (EntryPointError, NotInstalledError) as error:
            origin = f" of {self.source}" if self.source else ""
            message = f"{self.kind} {self.id!r}{origin}: {error}"
            raise type(error)(message) from error.__cause__
        return target

    def parameters(self) -> dict[str, Any]:
        """Return the parameters and their values; ``inspect.Parameter.empty`` for a required one.

        Raises:
            EntryPointError: The entry point cannot be loaded.
        """
        found = list(inspect.signature(self.load()).parameters.values())[self.kind.given :]
        named = [p for p in found if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
        return {p.name: p.default for p in named} | dict(self.kwargs)

    def make(self, *given: Any, **kwargs: Any) -> Any:
        """Call the entry point with the spec's arguments, overridden by ``kwargs``.

        Args:
            given: The leading arguments, which the program gives.
            kwargs: Further arguments.

        Raises:
            EntryPointError: The entry point cannot be loaded.
            UnknownKwargError: An argument that it does not accept; near names are suggested.
            ConfigError: An argument is missing.
        """
        target = self.load()
        arguments = {**self.kwargs, **kwargs}
        check_kwargs(target, arguments, f"{self.kind} {self.id!r}")
        try:
            return target(*given, **arguments)
        except TypeError:
            self._check_complete(target, given, arguments)
            raise

    def _check_complete(
        self, target: Callable[..., Any], given: tuple[Any, ...], arguments: dict[str, Any]
    ) -> None:
        """Raise ``ConfigError`` if an argument is missing."""
        try:
            inspect.signature(target).bind(*given, **arguments)
        except TypeError as error:
            raise ConfigError(f"{self.kind} {self.id!r} cannot be made: {error}.") from None

    def with_kwargs(self, **kwargs: Any) -> Self:
        """Return the same spec with some arguments replaced."""
        return replace(self, kwargs={**self.kwargs, **kwargs}) if kwargs else self


_CHECKS = "gem_core.testing.spec_checks"
ENVS: "Kind[EnvSpec]" = Kind(
    id="envs",
    name="environment",
    description="environments",
    group="env",
    by_entry_point=True,
    spec="gem_core.specs:EnvSpec",
)
FAMILIES: Kind[Spec] = Kind(
    id="families",
    name="family",
    description="families of environments",
    check=f"{_CHECKS}:check_family",
)
"""The id of a family is the namespace of its environments; its entry point returns a ``Family``."""
TOOLS: "Kind[ToolSpec]" = Kind(
    id="tools",
    name="tool",
    description="tools that agents call",
    group="tools",
    several=True,
    check=f"{_CHECKS}:check_tool_spec",
)
CALL_FORMATS: Kind[Spec] = Kind(
    id="call_formats", name="call format", description="formats of tool calls"
)
"""Entry points return a ``CallFormat``."""
WRAPPERS: "Kind[WrapperSpec]" = Kind(
    id="wrappers",
    name="wrapper",
    description="wrappers of environments",
    group="wrappers",
    several=True,
    given=1,
    check=f"{_CHECKS}:check_wrapper",
)
AGENTS: "Kind[AgentSpec]" = Kind(
    id="agents",
    name="agent",
    description="agents that act in environments",
    group="agent",
    several=True,
    check="gem_core.testing.agent_checks:check_agent",
)
EXECUTORS: Kind[Spec] = Kind(
    id="executors",
    name="executor",
    description="executors, in which environments run",
    group="executor",
    check=f"{_CHECKS}:check_executor",
)
"""Entry points return an ``Executor`` of the environments of a vector.

One whose workers also call functions, such as ``processes``, is a ``gem_workers.Pool``, in which
rollouts play.
"""
COMMANDS: Kind[Spec] = Kind(
    id="commands",
    name="command",
    description="commands of gem-core",
    check=f"{_CHECKS}:check_command",
)
"""Entry points are a ``click.Command``, a subcommand of ``gem-core``."""
KINDS: tuple[Kind[Any], ...] = (
    ENVS,
    FAMILIES,
    TOOLS,
    CALL_FORMATS,
    WRAPPERS,
    AGENTS,
    EXECUTORS,
    COMMANDS,
)
"""The kinds of gem-core itself."""


@dataclass(frozen=True, kw_only=True)
class EnvSpec(Spec):
    """An environment.

    Args:
        id: ``namespace:rest``.
        oracle: Entry point of the best known agent for it; ``make_agent("oracle")`` uses it, and
            the conformance kit measures the largest return with it.
        return_range: Smallest and largest return (undiscounted sum of rewards) of an episode. An
            episode with the largest return is a success; an agent that never gives a valid action
            gets the smallest.
        oracle_return: Mean return that the oracle reaches at least, if chance keeps it below the
            largest return.
        varies: Whether episodes depend on the seed; False for a puzzle with a single start.
        examples: Actions that it understands, for the conformance kit to play if the environment
            has no ``sample_random_action``.
        check_kwargs: Parameters with which the conformance kit makes it, such as data of its own
            and short time limits.
    """

    kind: Kind[Any] = field(default=ENVS, init=False, repr=False)
    oracle: EntryPoint | None = None
    return_range: tuple[float, float] | None = None
    oracle_return: float | None = None
    varies: bool = True
    examples: tuple[str, ...] = ()
    check_kwargs: Mapping[str, Any] = field(default_factory=dict)

    def load(self) -> Callable[..., Any]:
        """Return the class of the environment, or the function that makes it.

        Raises:
            EntryPointError: It cannot be loaded, or is not such a class or function.
        """
        target = super().load()
        if not callable(target):
            wrong = f"is {type(target).__name__}, not a class or function"
        elif not isinstance(target, type):
            return target
        elif abstract := getattr(target, "__abstractmethods__", ()):
            wrong = f"has no method {' and no '.join(sorted(abstract))}"
        elif not (hasattr(target, "reset") and hasattr(target, "step")):
            wrong = "is not an environment; derive it from gem_core.BaseEnv"
        else:
            return target
        name = getattr(target, "__name__", self.entry_point)
        raise EntryPointError(f"{self.kind} {self.id!r}: {name} {wrong}.")


@dataclass(frozen=True, kw_only=True)
class ToolSpec(Spec):
    """A tool; its entry point returns a ``Tool``, or is one, of which copies are made.

    Args:
        id: Its name.
        examples: Actions that call it and succeed; the conformance kit runs them.
    """

    kind: Kind[Any] = field(default=TOOLS, init=False, repr=False)
    examples: tuple[str, ...] = ()

    def load(self) -> Callable[..., Any]:
        """Return the function that makes the tool, or copies it if the entry point is a tool."""
        target: Any = super().load() if isinstance(self.entry_point, str) else self.entry_point
        is_tool = hasattr(target, "parse") and not isinstance(target, type)
        return functools.partial(copy_of, target) if is_tool else target


@dataclass(frozen=True, kw_only=True)
class WrapperSpec(Spec):
    """A wrapper; its entry point takes the environment first and returns the wrapped one."""

    kind: Kind[Any] = field(default=WRAPPERS, init=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class AgentSpec(Spec):
    """An agent; its entry point returns an ``Agent``.

    Args:
        id: Its name.
        env: Id of an environment for the conformance kit, if the agent cannot play any other.
    """

    kind: Kind[Any] = field(default=AGENTS, init=False, repr=False)
    env: str | None = None


class Family(Protocol):
    """Resolves the ids of a namespace, so that listing them imports nothing heavy."""

    def ids(self) -> Iterable[str]:
        """Return the ids to list; there may be others that can be made."""

    def spec(self, env_id: str) -> EnvSpec | None:
        """Return the spec of ``env_id``, or None if the family has no such environment."""


def load_entry_point(entry_point: str) -> Any:
    """Import ``"package.module:attribute"`` or ``"path/to/file.py:attribute"``.

    Raises:
        EntryPointError: The text has no colon, the file does not exist, the module fails to import
            (a missing dependency is named as such), or it has no such attribute.
        NotInstalledError: The module needs an extra of its distribution that is not installed.
    """
    module_name, _, attribute = entry_point.rpartition(":")
    if not module_name or not attribute:
        raise EntryPointError(
            f"Entry point {entry_point!r} does not have the form 'module:attribute'."
        )
    try:
        target: Any = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and (module_name + ".").startswith(error.name + "."):
            message = f"Entry point {entry_point!r} does not exist: no module {error.name!r}."
        else:
            from gem_core.extras import install_command  # noqa: PLC0415 - it imports much

            if command := install_command(error.name or "", module_name):
                raise NotInstalledError(
                    f"{module_name} needs {error.name} (not installed). Run: {command}"
                ) from error
            message = (
                f"Entry point {entry_point!r} needs the module {error.name!r}, "
                f"which is not installed."
            )
        raise EntryPointError(message) from error
    except (EntryPointError, NotInstalledError):
        raise
    except (Exception, SystemExit) as error:  # a script ends the program
        raise EntryPointError(
            f"Entry point {entry_point!r}: importing {module_name!r} raised "
            f"{type(error).__name__}: {error}{place_of(error)}"
        ) from error
    for name in attribute.split("."):
        try:
            target = getattr(target, name)
        except AttributeError as error:
            raise EntryPointError(
                f"Entry point {entry_point!r} does not exist: {module_name!r} has no {name!r}."
                + near_names(name, dir(target))
            ) from error
    return target


_known: "weakref.WeakKeyDictionary[Callable[..., Any], list[str] | None]" = (
    weakref.WeakKeyDictionary()
)
"""Keyword arguments of classes and methods; they are looked up in each episode."""


_GYMNASIUM = {
    "max_episode_steps": " Use wrappers=[{'id': 'time_limit', 'max_steps': ...}].",
    "options": " Pass each option by its name, such as reset(idx=3).",
    "vectorization_mode": " Use make_vec(..., executor='threads').",
}
"""Arguments of Gymnasium, with what to write here."""


def check_kwargs(target: Callable[..., Any], kwargs: Iterable[str], what: str) -> None:
    """Raise ``UnknownKwargError`` unless ``target`` accepts every keyword argument.

    Args:
        target: The callable.
        kwargs: Names of the arguments.
        what: The name of the target in the message.
    """
    names = list(kwargs)
    if not names:
        return
    kept = target if isinstance(target, type) else getattr(target, "__func__", None)
    if kept is None:
        known = _keywords(target)
    elif kept in _known:
        known = _known[kept]
    else:
        known = _known[kept] = _keywords(target)
    if known is None:
        return
    for name in names:
        if name not in known:
            raise UnknownKwargError(
                f"{what} takes no argument {name!r}."
                f"{_GYMNASIUM.get(name) or near_names(name, known)} "
                f"It takes: {', '.join(known) or 'none'}."
            )


def _keywords(target: Callable[..., Any]) -> list[str] | None:
    """Return the names of the keyword arguments of a callable; None if it accepts any."""
    parameters = inspect.signature(target).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    return [p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]

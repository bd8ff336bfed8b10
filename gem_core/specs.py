"""Specs: descriptions of what can be made by name. Making one imports its entry point.

Ids of environments are ``namespace:rest``, for example ``game:Wordle-v0-easy``; other specs may
omit the namespace (``concat``). A config path writes the same id with slashes
(``game/Wordle-v0-easy``).
"""

import functools
import importlib
import inspect
import re
import sys
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any, ClassVar, Protocol, Self

from gem_core.errors import (
    EntryPointError,
    InvalidIdError,
    UnknownKwargError,
    near_names,
)
from gem_core.notices import notice_after
from gem_core.stateful import copy_of

__all__ = [
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
    "Spec",
    "ToolSpec",
    "WrapperSpec",
    "check_kwargs",
    "load_entry_point",
]

_NAME = r"[A-Za-z0-9_.-]+"
_ID = re.compile(rf"(?:(?P<namespace>[A-Za-z_][A-Za-z0-9_.-]*):)?(?P<rest>{_NAME}(?:/{_NAME})*)")

EntryPoint = str | Callable[..., Any]


@dataclass(frozen=True, kw_only=True)
class Spec:
    """A description of something that can be made by name.

    Args:
        id: The name, ``namespace:rest`` or ``rest``.
        entry_point: ``"package.module:attribute"``, or a callable.
        kwargs: Arguments of the entry point; the caller may override them.
        description: One line for listings.
        source: The distribution that registered it; the registry fills it in.
    """

    kind: ClassVar[str]
    namespace_required: ClassVar[bool] = False
    given: ClassVar[int] = 0
    """Number of leading parameters that are not configuration, such as the one to wrap."""
    by_entry_point: ClassVar[bool] = False
    """Whether ``module:attribute`` can be written where an id is expected."""

    id: str
    entry_point: EntryPoint
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    description: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        match = _ID.fullmatch(self.id) if isinstance(self.id, str) else None
        if match is None or (self.namespace_required and match["namespace"] is None):
            form = "namespace:rest" if self.namespace_required else "rest or namespace:rest"
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
        """
        if callable(self.entry_point):
            return self.entry_point
        try:
            target: Callable[..., Any] = load_entry_point(self.entry_point)
        except EntryPointError as error:
            origin = f" of {self.source}" if self.source else ""
            raise EntryPointError(f"{self.kind} {self.id!r}{origin}: {error}") from error.__cause__
        return target

    def parameters(self) -> dict[str, Any]:
        """Return the parameters and their values; ``inspect.Parameter.empty`` for a required one.

        Raises:
            EntryPointError: The entry point cannot be loaded.
        """
        found = list(inspect.signature(self.load()).parameters.values())[self.given :]
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
        """
        target = self.load()
        arguments = {**self.kwargs, **kwargs}
        check_kwargs(target, arguments, f"{self.kind} {self.id!r}")
        return target(*given, **arguments)

    def with_kwargs(self, **kwargs: Any) -> Self:
        """Return the same spec with some arguments replaced."""
        return replace(self, kwargs={**self.kwargs, **kwargs}) if kwargs else self


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
        check_kwargs: Parameters with which the conformance kit makes it, such as data of its own
            and short time limits.
        metadata: What a reader should know, by name: ``teaches``, ``score`` (what a reward means),
            ``needs`` (software or data), ``data`` (where it comes from) and its ``license``.
    """

    kind: ClassVar[str] = "environment"
    namespace_required: ClassVar[bool] = True

    oracle: EntryPoint | None = None
    return_range: tuple[float, float] | None = None
    oracle_return: float | None = None
    varies: bool = True
    check_kwargs: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ToolSpec(Spec):
    """A tool; its entry point returns a ``Tool``, or is one, of which copies are made.

    Args:
        id: Its name.
        examples: Actions that call it and succeed; the conformance kit runs them.
    """

    kind: ClassVar[str] = "tool"

    examples: tuple[str, ...] = ()

    def load(self) -> Callable[..., Any]:
        """Return what makes the tool; for an entry point that is a tool, what copies it."""
        target: Any = super().load() if isinstance(self.entry_point, str) else self.entry_point
        is_tool = hasattr(target, "parse") and not isinstance(target, type)
        return functools.partial(copy_of, target) if is_tool else target


@dataclass(frozen=True, kw_only=True)
class CallFormatSpec(Spec):
    """A format of tool calls; its entry point returns a ``CallFormat``."""

    kind: ClassVar[str] = "call format"


@dataclass(frozen=True, kw_only=True)
class WrapperSpec(Spec):
    """A wrapper; its entry point takes the environment first and returns the wrapped one."""

    kind: ClassVar[str] = "wrapper"
    given: ClassVar[int] = 1


@dataclass(frozen=True, kw_only=True)
class AgentSpec(Spec):
    """An agent; its entry point returns an ``Agent``.

    Args:
        id: Its name.
        env: Id of an environment for the conformance kit, if the agent cannot play any other.
    """

    kind: ClassVar[str] = "agent"

    env: str | None = None


@dataclass(frozen=True, kw_only=True)
class SandboxSpec(Spec):
    """A sandbox; its entry point returns a ``Sandbox``."""

    kind: ClassVar[str] = "sandbox"


@dataclass(frozen=True, kw_only=True)
class MachineProviderSpec(Spec):
    """A provider of machines; its entry point returns a ``MachineProvider``."""

    kind: ClassVar[str] = "machine"


@dataclass(frozen=True, kw_only=True)
class ExecutorSpec(Spec):
    """An executor of the environments of a vector; its entry point returns an ``Executor``."""

    kind: ClassVar[str] = "executor"


@dataclass(frozen=True, kw_only=True)
class CheckSpec(Spec):
    """A conformance check that a library brings; its id is the kind of spec that it checks.

    Its entry point takes the id of a spec and returns a ``gem_core.testing.Report``.
    """

    kind: ClassVar[str] = "check"


@dataclass(frozen=True, kw_only=True)
class CommandSpec(Spec):
    """A subcommand of ``gem-core``; its entry point is a ``click.Command``."""

    kind: ClassVar[str] = "command"


class Family(Protocol):
    """Resolves the ids of a namespace, so that listing them imports nothing heavy."""

    def ids(self) -> Iterable[str]:
        """Return the ids to list; there may be others that can be made."""

    def spec(self, env_id: str) -> EnvSpec | None:
        """Return the spec of ``env_id``, or None if the family has no such environment."""


@dataclass(frozen=True, kw_only=True)
class FamilySpec(Spec):
    """A family of environments; its id is their namespace, its entry point returns a ``Family``."""

    kind: ClassVar[str] = "family"


@dataclass(frozen=True, kw_only=True)
class KindSpec(Spec):
    """A kind of spec, which a library or a plugin can declare; its entry point is the class.

    Args:
        id: Its name in ``gem-core list --kind``, such as ``tools``.
        group: The group of Hydra that has these specs as options; empty for none.
        several: Whether the group takes a list, and each option has its own place in the config.
    """

    kind: ClassVar[str] = "kind"

    group: str = ""
    several: bool = False


NOTICE_SECONDS = 10.0
"""A module that is still being imported after this time is named on the standard error."""


def _imported(module: str) -> ModuleType:
    """Import a module; say so if it takes long."""
    if module in sys.modules:
        return importlib.import_module(module)
    text = f"The module {module!r} is still being imported after {NOTICE_SECONDS:.0f} s."
    with notice_after(NOTICE_SECONDS, text):
        return importlib.import_module(module)


def load_entry_point(entry_point: str) -> Any:
    """Import ``"package.module:attribute"``.

    Raises:
        EntryPointError: The text has no colon, the module fails to import (a missing dependency
            is named as such), or it has no such attribute.
    """
    module_name, _, attribute = entry_point.partition(":")
    if not attribute:
        raise EntryPointError(
            f"Entry point {entry_point!r} does not have the form 'module:attribute'."
        )
    try:
        target = _imported(module_name)
    except ModuleNotFoundError as error:
        if error.name and (module_name + ".").startswith(error.name + "."):
            message = f"Entry point {entry_point!r} does not exist: no module {error.name!r}."
        else:
            message = (
                f"Entry point {entry_point!r} needs the module {error.name!r}, "
                f"which is not installed."
            )
        raise EntryPointError(message) from error
    except Exception as error:
        raise EntryPointError(
            f"Entry point {entry_point!r}: importing {module_name!r} raised "
            f"{type(error).__name__}: {error}"
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

"""Environments: the ``Env`` protocol, ``BaseEnv`` for authors, and ``Wrapper``.

An author writes two methods, ``start`` and ``step``. ``BaseEnv`` adds the rest of the protocol: a
random generator that ``reset`` seeds, a clear error for a step after the end, and snapshots and
forks in the middle of an episode.
"""

import copy
import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import IntEnum
from typing import Any, ClassVar, NamedTuple, Protocol, Self, runtime_checkable

from gem_core.errors import GemError, NoRandomActionError, ReturnValueError, WrapperOrderError
from gem_core.faults import checked_reward
from gem_core.maybe_async import then
from gem_core.observation import Action, Info, Observation
from gem_core.seeded_env import SeededEnv
from gem_core.specs import EnvSpec, check_kwargs
from gem_core.stateful import Stateful

__all__ = [
    "AsyncEnv",
    "BaseEnv",
    "Env",
    "Layer",
    "Step",
    "Wrapper",
]


class Step(NamedTuple):
    """The result of a step; it unpacks as Gymnasium's five values.

    ``terminated``: the episode reached its own end. ``truncated``: it was cut off, for example by a
    turn limit. They are never both true. ``gem_core.info`` documents the keys of ``info``.
    """

    observation: Observation
    reward: float
    terminated: bool
    truncated: bool
    info: Info


@runtime_checkable
class Env(Protocol):
    """The members of every environment, wrapped or not.

    An object with these members works everywhere; it needs no base class. ``gem_core.optional``
    lists what else it may have. ``reset`` and ``step`` of an asynchronous environment return
    awaitables of the same values.
    """

    @property
    def spec(self) -> EnvSpec | None:
        """The spec that it was made from; None if it was constructed directly."""

    @property
    def blocking(self) -> bool:
        """Whether ``step`` may wait (for a process, a network) and so should run in a thread."""

    @property
    def unwrapped(self) -> Any:
        """The innermost environment."""

    def reset(self, *, seed: int | None = None, **options: Any) -> tuple[Observation, Info]:
        """Start an episode. The same seed always starts the same episode.

        Args:
            seed: A non-negative int. With None the environment's random stream continues.
            options: Options of the environment's ``start``, such as ``idx=`` of dataset tasks.
                Gymnasium passes them as one mapping, ``options=``.
        """

    def step(self, action: Action) -> Step:
        """Take one action.

        Raises:
            EpisodeEndedError: The episode has ended, or none was started.
        """

    def sample_random_action(self) -> Action:
        """Return a well-formed action for the current state, from a separate random stream."""

    def snapshot(self) -> bytes:
        """Return the whole state, random generators included, at any point of an episode."""

    def restore(self, snapshot: bytes) -> None:
        """Return to the state of a snapshot. It is a pickle: restore only snapshots you trust."""

    def fork(self) -> Self:
        """Return an independent copy that continues exactly as this one would."""

    def spawn(self, *, seed: int | None = None, same_state: bool = False) -> Self:
        """Return a new environment of the same configuration; a fork if ``same_state``."""

    def close(self) -> None:
        """Release its resources; may be called twice."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class BaseEnv(SeededEnv, ABC):
    """The base class of environments: write ``start`` and ``step``; draw from ``self.rng`` only.

    Example:
        >>> class Coin(BaseEnv):
        ...     def start(self):
        ...         self.side = self.rng.choice(["heads", "tails"])
        ...         return "Heads or tails?", {}
        ...
        ...     def step(self, action):
        ...         return Step("", float(action == self.side), True, False, {})
        ...
        ...     def sample_random_action(self):
        ...         return self.action_rng.choice(["heads", "tails"])
        >>> env = Coin()
        >>> env.reset(seed=0)
        ('Heads or tails?', {})
        >>> env.step("heads").reward
        1.0
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        step: Any = cls.step
        if not getattr(step, "is_guarded", False) and not getattr(
            step, "__isabstractmethod__", False
        ):
            cls.step = _guard_step(step)  # type: ignore[assignment,method-assign]

    @abstractmethod
    def start(self) -> Any:
        """Set up an episode from ``self.rng`` and return its first observation and info.

        It may accept keyword options, which ``reset`` passes on.
        """

    @abstractmethod
    def step(self, action: Action) -> Any:
        """Take one action and return a ``Step``; it is called only during an episode."""

    def sample_random_action(self) -> Action:
        """Return a well-formed action, chosen with ``self.action_rng``.

        Raises:
            NoRandomActionError: The class does not define it.
        """
        raise NoRandomActionError(
            f"{type(self).__name__} has no sample_random_action, without which nothing can play at "
            f"random: write it, or choose an agent other than 'random'."
        )

    def reset(self, *, seed: int | None = None, **options: Any) -> tuple[Observation, Info]:
        """Start an episode; see ``Env.reset``."""
        if options:
            check_kwargs(self.start, options, f"reset of {type(self).__name__}")
        if seed is not None:
            self.seed(seed)
        self._ended = None
        first: Any = self.start(**options)
        if type(first) is tuple and [*map(type, first)] == [str, dict]:
            self._ended = False
            return first
        return then(first, self._started)  # type: ignore[return-value]

    def _started(self, first: Any) -> tuple[Observation, Info]:
        """Begin the episode, with what ``start`` returned."""
        if type(first) is not tuple or len(first) != 2:
            raise _wrong(self, "start", first, 'a pair (observation, info), such as ("Go!", {})')
        _check(self, "start", *first)
        self._ended = False
        return first

    def reset_options(self, number: int, seed: int | None = None) -> dict[str, Any]:
        """Return the options of ``reset`` for episode ``number`` of a run; empty by default.

        An environment over a dataset returns the row at position ``number`` of an order that the
        run's ``seed`` decides; with None, the options that do not depend on it.
        """
        return {}

    @property
    def unwrapped(self) -> "BaseEnv":
        """The environment itself; a wrapper returns the environment that it wraps."""
        return self


def _guard_step(step: Callable[[Any, Action], Any]) -> Callable[[Any, Action], Any]:
    """Return ``step`` with checks: that an episode is running, and what the method returns."""

    @functools.wraps(step)
    def guarded(self: BaseEnv, action: Action) -> Any:
        if self._ended is not False:
            raise self._not_running()
        result = step(self, action)
        if type(result) is Step:
            observation, reward, terminated, truncated, info = result
            if (
                type(observation) is str
                and type(reward) is float
                and reward - reward == 0.0  # finite
                and (
                    (truncated is False and (terminated is False or terminated is True))
                    or (truncated is True and terminated is False)
                )
                and type(info) is dict
            ):
                # A subclass may go on where its base would have ended.
                self._ended = terminated or truncated
                return result
        return then(result, functools.partial(_taken, self))

    guarded.is_guarded = True  # type: ignore[attr-defined]
    return guarded


def _taken(env: BaseEnv, result: Any) -> Step:
    """Return what ``step`` returned as a ``Step``, and note whether the episode has ended.

    Raises:
        ReturnValueError: It is something else, or a value has a wrong type.
        RewardError: The reward is not a finite number.
    """
    if not isinstance(result, tuple) or len(result) != len(Step._fields):
        raise _wrong(env, "step", result, f"a Step({', '.join(Step._fields)})")
    observation, reward, *flags, info = result
    _check(env, "step", observation, info)
    terminated, truncated = _flag(env, "terminated", flags[0]), _flag(env, "truncated", flags[1])
    if terminated and truncated:
        raise GemError(
            f"{type(env).__name__}.step returned terminated and truncated both true: an episode "
            f"that reached its own end is terminated, one that was cut off is truncated."
        )
    env._ended = terminated or truncated  # noqa: SLF001 - its own guard
    return Step(observation, checked_reward(reward, env), terminated, truncated, info)


def _flag(env: BaseEnv, name: str, value: Any) -> bool:
    if (isinstance(value, int) and value in (0, 1)) or type(value).__name__ in {"bool", "bool_"}:
        return bool(value)  # the names are NumPy's
    raise _wrong(env, "step", value, "True or False", f"{name}=")


def _check(env: BaseEnv, method: str, observation: Any, info: Any) -> None:
    """Check the types of an observation and an info."""
    has_text = isinstance(observation, dict) and any(
        isinstance(value, str) for value in observation.values()
    )
    if not (isinstance(observation, str) or has_text):
        expected = "text, or a dict that contains a text"
        raise _wrong(env, method, observation, expected, "observation=")
    if not isinstance(info, dict):
        raise _wrong(env, method, info, "a dict, such as {}", "info=")


def _wrong(env: BaseEnv, method: str, value: Any, expected: str, name: str = "") -> Exception:
    """Return the error of a value that a method of an environment must not return."""
    what = f"{name.rstrip('=')} is" if name else "it returns"
    shown = " ".join(repr(value).split())
    return ReturnValueError(
        f"{type(env).__name__}.{method} returned {name}{shown:.100} ({type(value).__name__}); "
        f"{what} {expected}."
    )


class AsyncEnv(BaseEnv):
    """The base class of environments whose ``start`` and ``step`` are coroutines."""

    @abstractmethod
    async def start(self) -> tuple[Observation, Info]:
        """Set up an episode; see ``BaseEnv.start``."""

    @abstractmethod
    async def step(self, action: Action) -> Step:
        """Take one action; see ``BaseEnv.step``."""


class Layer(IntEnum):
    """The position of a kind of wrapper in a stack, from the inside out."""

    TOOLS = 10
    HISTORY = 20
    TRACKING = 30


class Wrapper(Stateful):
    """The base class of wrappers: override ``after_reset`` and ``after_step``.

    Public attributes that the wrapper lacks are read from the wrapped environment, each time anew;
    ``set_attr`` writes one where it is. A wrapper may override ``reset`` and ``step`` instead;
    it then handles asynchronous environments itself.

    Raises:
        WrapperOrderError: The wrapped stack contains a wrapper that belongs outside of this one, or
            another one of the group ``only_one_of``.
    """

    shared: ClassVar[tuple[str, ...]] = ("env",)
    layer: ClassVar[Layer | None] = None
    """Its position in a stack; None if it may be anywhere."""
    only_one_of: ClassVar[str] = ""
    """The plural name of a group of wrappers of which a stack has one at most; "" for none."""

    env: Env

    def __init__(self, env: Env) -> None:
        self.env = env
        inner: Any = env
        while isinstance(inner, Wrapper):
            if self.only_one_of and inner.only_one_of == self.only_one_of:
                raise WrapperOrderError(f"There are two {self.only_one_of}. Keep one of them.")
            if self.layer is not None and inner.layer is not None and inner.layer > self.layer:
                raise WrapperOrderError(
                    f"{type(self).__name__} must be inside {type(inner).__name__}: put it earlier "
                    f"in the list of wrappers (order: tools, then history, then tracking)."
                )
            inner = inner.env

    def __getattr__(self, name: str) -> Any:
        if name == "env" or name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.env, name)

    def set_attr(self, name: str, value: Any) -> None:
        """Set an attribute in the outermost layer of the stack that has it.

        Plain assignment (``env.name = value``) would set it on the wrapper and hide the
        environment's.

        Raises:
            AttributeError: No layer has it.
        """
        layer: Any = self
        while isinstance(layer, Wrapper) and name not in {*vars(layer), *dir(type(layer))}:
            layer = layer.env
        if not hasattr(layer, name):
            raise AttributeError(f"No layer of the stack has an attribute {name!r}.")
        setattr(layer, name, value)

    def after_reset(self, observation: Observation, info: Info) -> tuple[Observation, Info]:
        """Return the values of ``reset``, given those of the wrapped environment."""
        return observation, info

    def after_step(self, action: Action, step: Step) -> Step:
        """Return the result of ``step``, given that of the wrapped environment."""
        return step

    def reset(self, *, seed: int | None = None, **options: Any) -> tuple[Observation, Info]:
        """Start an episode; see ``Env.reset``."""
        first = self.env.reset(seed=seed, **options)
        return then(first, lambda pair: self.after_reset(*pair))  # type: ignore[return-value]

    def step(self, action: Action) -> Step:
        """Take one action; see ``Env.step``."""
        step: Any = self.env.step(action)
        if type(step) is Step:
            return self.after_step(action, step)
        return then(step, lambda later: self.after_step(action, later))  # type: ignore[return-value]

    def get_state(self) -> dict[str, Any]:
        """Return the state of the wrapper and of the wrapped environment."""
        return {**super().get_state(), "env": self.env.snapshot()}

    def set_state(self, state: dict[str, Any]) -> None:
        """Set the state of the wrapper and of the wrapped environment."""
        own = dict(state)
        self.env.restore(own.pop("env"))
        super().set_state(own)

    def fork(self) -> Self:
        """Return an independent copy of the whole stack."""
        return self._around(self.env.fork())

    def spawn(self, *, seed: int | None = None, same_state: bool = False) -> Self:
        """Return a new stack of the same configuration; see ``Env.spawn``."""
        return self._around(self.env.spawn(seed=seed, same_state=same_state))

    def _around(self, env: Env) -> Self:
        twin = copy.copy(self)
        twin.env = env
        own = self._pickled(Stateful.get_state(self))
        Stateful.set_state(twin, self._unpickled(own))
        return twin

    @property
    def spec(self) -> EnvSpec | None:
        """The spec of the wrapped environment."""
        return self.env.spec

    @property
    def blocking(self) -> bool:
        """Whether a step may wait."""
        return self.env.blocking

    @property
    def unwrapped(self) -> Any:
        """The innermost environment."""
        return self.env.unwrapped

    def sample_random_action(self) -> Action:
        """Return a well-formed action for the wrapped environment."""
        return self.env.sample_random_action()

    def close(self) -> None:
        """Close the wrapped environment."""
        self.env.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

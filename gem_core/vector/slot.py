"""Slots: the environments of a vector, with autoreset and error handling.

A slot lives where its environment runs: in the caller's process or in a worker process. So an
automatic reset needs no extra message, and runs in parallel to the steps of other slots.
"""

import asyncio
import contextlib
import functools
from collections.abc import Callable, Generator, Mapping
from typing import Any, Literal

from gem_core.env import Env, Step, Wrapper
from gem_core.faults import error_record
from gem_core.maybe_async import drive, is_awaitable, then
from gem_core.observation import Info, Observation
from gem_core.seeded_env import check_single_agent

__all__ = ["FAULTS", "Autoreset", "Fault", "OnError", "Slot", "perform"]

Autoreset = Literal["same_step", "next_step", "off"]
OnError = Literal["raise", "truncate"]


FAULTS = (Exception, SystemExit, asyncio.CancelledError)
"""Exceptions that count as a fault of an environment; others end the whole program."""


class Fault:
    """An exception on its way from a slot to the caller.

    Args:
        error: The exception.
    """

    def __init__(self, error: BaseException) -> None:
        self.error = error


class _LostEpisode(Wrapper):
    """Replaces an environment whose episode was lost, until the next reset."""

    def __init__(self, env: Env, error: Exception) -> None:
        super().__init__(env)
        self._error = error

    def step(self, action: Any) -> Step:
        raise self._error


class Slot:
    """One environment of a vector.

    Args:
        make_env: Makes the environment.
        autoreset: See ``VectorEnv``.
        on_error: See ``VectorEnv``.
        lost: The error by which the slot lost an earlier environment and its episode.
    """

    def __init__(
        self,
        make_env: Callable[[], Env],
        autoreset: Autoreset,
        on_error: OnError,
        lost: Exception | None = None,
    ) -> None:
        self._make_env = make_env
        self._hold(make_env() if lost is None else _LostEpisode(make_env(), lost))
        self._autoreset = autoreset
        self._on_error = on_error
        self._last_observation: Observation = ""

    def _hold(self, env: Env) -> Env:
        check_single_agent(env, "a vector")
        self.env = env
        self._step: Callable[[Any], Any] = env.step
        return env

    def reset(self, options: Mapping[str, Any]) -> Any:
        """Start an episode; returns (observation, info) or an awaitable of it.

        Args:
            options: Keyword arguments of the environment's ``reset``, seed included.
        """
        if type(self.env) is _LostEpisode:
            self._hold(self.env.env)
        elif self._autoreset == "next_step":
            self._step = self.env.step
        return drive(self._start(options))

    def _start(self, options: Mapping[str, Any]) -> Generator[Any, Any, Any]:
        try:
            first = yield self.env.reset(**options)
        except FAULTS:
            first = yield self._renew().reset(**options)
        self._last_observation = first[0]
        return first

    def _renew(self) -> Env:
        """Replace an environment that cannot be reset, unless ``on_error`` is ``raise``."""
        if self._on_error == "raise":
            raise  # noqa: PLE0704 - only called while an exception is handled
        with contextlib.suppress(*FAULTS):
            self.env.close()
        return self._hold(self._make_env())

    def step(self, action: Any) -> Any:
        """Take an action, or do the reset that is due; returns a Step or an awaitable of it."""
        try:
            result = self._step(action)
        except FAULTS as error:
            return self._broken(error)
        if type(result) is not Step and is_awaitable(result):
            return drive(self._await(result))
        return self._taken(result)

    def _await(self, result: Any) -> Generator[Any, Any, Any]:
        try:
            result = yield result
        except FAULTS as error:
            return (yield self._broken(error))
        return (yield self._taken(result))

    def _taken(self, result: Any) -> Any:
        step = result if type(result) is Step else Step(*result)
        if step[2] or step[3]:
            return self._finish(step)
        self._last_observation = step[0]
        return step

    def _broken(self, error: BaseException) -> Any:
        if self._on_error == "raise":
            raise error
        info = {"error": error_record(error, "env")}
        return self._finish(Step(self._last_observation, 0.0, False, True, info))

    def _finish(self, step: Step) -> Any:
        """Apply ``autoreset`` after the last step of an episode."""
        if self._autoreset == "same_step":
            step = step._replace(info=dict(step.info))  # the environment may use it again
            return then(self.reset({}), functools.partial(_join, step))
        if self._autoreset == "next_step":
            self._step = self._reset_instead
        return step

    def _reset_instead(self, action: Any) -> Any:
        """Reset instead of taking a step, for ``next_step``."""
        first = self.reset({})
        return then(first, lambda pair: Step(pair[0], 0.0, False, False, pair[1]))

    def call(self, name_and_arguments: tuple[Any, ...]) -> Any:
        """Call a method of the environment."""
        name, *arguments = name_and_arguments
        return getattr(self.env, name)(*arguments)

    def snapshot(self, _: None) -> tuple[bool, Observation, bytes]:
        """Return the state of the slot and its environment."""
        return self._step == self._reset_instead, self._last_observation, self.env.snapshot()

    def restore(self, state: tuple[bool, Observation, bytes]) -> None:
        """Restore a state from ``snapshot``."""
        reset_due, self._last_observation, snapshot = state
        self._hold(self.env.env if type(self.env) is _LostEpisode else self.env).restore(snapshot)
        if reset_due:
            self._step = self._reset_instead

    def close(self, _: None) -> None:
        """Close the environment."""
        self.env.close()


def _join(step: Step, first: tuple[Observation, Info]) -> Step:
    observation, info = first
    info = {**info, "final_observation": step[0], "final_info": step[4]}
    return Step(observation, step[1], step[2], step[3], info)


def perform(slot: Slot, method: str, argument: Any) -> Any:
    """Call a slot's method; return a ``Fault`` if it raises."""
    try:
        return getattr(slot, method)(argument)
    except FAULTS as error:
        return Fault(error)

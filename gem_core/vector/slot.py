"""One environment of a vector, with what is done when its episode ends or breaks.

A slot lives where its environment runs: in the caller's thread, in a pool, or in a worker process.
So an automatic reset costs no round trip, and runs beside the other slots' steps.
"""

from collections.abc import Callable
from typing import Any, Literal

from gem_core.env import Env, Step
from gem_core.faults import error_record
from gem_core.maybe_async import drive, then
from gem_core.observation import Info, Observation

__all__ = ["Autoreset", "Fault", "OnError", "Slot", "perform"]

Autoreset = Literal["same_step", "next_step", "off"]
OnError = Literal["raise", "truncate"]


class Fault:
    """An exception on its way from a slot to the caller.

    Args:
        error: The exception.
    """

    def __init__(self, error: BaseException) -> None:
        self.error = error


class Slot:
    """One environment of a vector.

    Args:
        make_env: Makes the environment.
        autoreset: When an ended episode is followed by the next; see ``VectorEnv``.
        on_error: What an exception in ``step`` does; see ``VectorEnv``.
        lost: The error by which an earlier environment of this slot was lost with its episode.
    """

    def __init__(
        self,
        make_env: Callable[[], Env],
        autoreset: Autoreset,
        on_error: OnError,
        lost: Exception | None = None,
    ) -> None:
        self.env = make_env()
        self._make_env = make_env
        self._autoreset = autoreset
        self._on_error = on_error
        self._lost = lost
        self._reset_due = False
        self._last_observation: Observation = ""

    def reset(self, seed: int | None, options: dict[str, Any]) -> Any:
        """Start an episode; returns (observation, info) or an awaitable of it."""
        self._lost = None
        self._reset_due = False
        return then(self.env.reset(seed=seed, **options), self._remember_first)

    def _remember_first(self, first: tuple[Observation, Info]) -> tuple[Observation, Info]:
        self._last_observation = first[0]
        return first

    def step(self, action: Any) -> Any:
        """Take an action, or the reset that is due; returns a Step or an awaitable of it."""
        if self._reset_due:
            return then(
                self.reset(None, {}), lambda first: Step(first[0], 0.0, False, False, first[1])
            )
        try:
            result: Any = self._env_of_this_episode().step(action)
        except Exception as error:  # noqa: BLE001 - the policy says what becomes of it
            return self._broken(error)
        if type(result) is Step:
            return self._finish(result) if result[2] or result[3] else self._go_on(result)
        return self._step_later(result)

    def _env_of_this_episode(self) -> Env:
        if self._lost is not None:
            raise self._lost
        return self.env

    async def _step_later(self, result: Any) -> Step:
        try:
            step = Step(*await result)
        except Exception as error:  # noqa: BLE001 - the policy says what becomes of it
            step = self._broken(error)
        else:
            step = self._finish(step) if step[2] or step[3] else self._go_on(step)
        return step if type(step) is Step else await step  # type: ignore[misc]

    def _go_on(self, step: Step) -> Step:
        self._last_observation = step[0]
        return step

    def _broken(self, error: Exception) -> Any:
        if self._on_error == "raise":
            raise error
        info = {"error": error_record(error, "env")}
        return self._finish(Step(self._last_observation, 0.0, False, True, info), broken=True)

    def _finish(self, step: Step, *, broken: bool = False) -> Any:
        """Follow an episode's last step by the next episode, as ``autoreset`` says."""
        if self._autoreset == "same_step":
            return drive(self._reset_after(step, broken=broken))
        if broken:
            self._renew()
        self._reset_due = self._autoreset == "next_step"
        return step

    def _reset_after(self, step: Step, *, broken: bool) -> Any:
        try:
            observation, info = yield self.reset(None, {})
        except Exception:
            if not broken:
                raise
            self._renew()
            observation, info = yield self.reset(None, {})
        final = {"final_observation": step.observation, "final_info": step.info}
        return step._replace(observation=observation, info={**info, **final})

    def _renew(self) -> None:
        self.env.close()
        self.env = self._make_env()

    def call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Call a method of the environment."""
        return getattr(self.env, name)(*args, **kwargs)

    def snapshot(self) -> tuple[bool, Observation, bytes]:
        """Return the slot's state, the environment's included."""
        return self._reset_due, self._last_observation, self.env.snapshot()

    def restore(self, state: tuple[bool, Observation, bytes]) -> None:
        """Return to a state from ``snapshot``."""
        self._reset_due, self._last_observation, snapshot = state
        self._lost = None
        self.env.restore(snapshot)

    def close(self) -> None:
        """Close the environment."""
        self.env.close()


def perform(slot: Slot, method: str, args: tuple[Any, ...]) -> Any:
    """Call a slot's method; what it raises is returned as a ``Fault``."""
    try:
        return getattr(slot, method)(*args)
    except Exception as error:  # noqa: BLE001 - it is raised again where it was asked for
        return Fault(error)

"""A wrapper that counts steps and sums rewards."""

from typing import Self

from gem_core.env import Env, Layer, Step, Wrapper
from gem_core.observation import Action, Info, Observation

__all__ = ["EpisodeTracking"]


class EpisodeTracking(Wrapper):
    """Adds ``step_counter`` and ``cumulative_rewards`` to ``info``; the outermost wrapper.

    The info of ``reset`` has those of the previous episode too, as ``prev_ep_step_counter`` and
    ``prev_ep_cumulative_rewards``.
    """

    layer = Layer.TRACKING
    only_one_of = "wrappers episode_tracking"

    def __init__(self, env: Env) -> None:
        super().__init__(env)
        self._forget()

    def _forget(self) -> None:
        self.step_counter = 0
        self.cumulative_rewards = 0.0

    def after_reset(self, observation: Observation, info: Info) -> tuple[Observation, Info]:
        previous = {
            "prev_ep_step_counter": self.step_counter,
            "prev_ep_cumulative_rewards": self.cumulative_rewards,
        }
        self._forget()
        return observation, {**info, **previous, **self._figures()}

    def after_step(self, action: Action, step: Step) -> Step:
        self.step_counter += 1
        self.cumulative_rewards += step.reward
        return step._replace(info={**step.info, **self._figures()})

    def _figures(self) -> Info:
        return {"step_counter": self.step_counter, "cumulative_rewards": self.cumulative_rewards}

    def spawn(self, *, seed: int | None = None, same_state: bool = False) -> Self:
        """Return a new stack of the same configuration; see ``Env.spawn``."""
        twin = super().spawn(seed=seed, same_state=same_state)
        if not same_state:
            twin._forget()  # noqa: SLF001 - its own class
        return twin

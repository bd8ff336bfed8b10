"""A wrapper: shows observations in capitals."""

from gem_core import Action, Info, Observation, Step, Wrapper

__all__ = ["Shout"]


class Shout(Wrapper):
    """Shows observations in capitals."""

    def after_reset(self, observation: Observation, info: Info) -> tuple[Observation, Info]:
        return observation.upper(), info

    def after_step(self, action: Action, step: Step) -> Step:
        return step._replace(observation=step.observation.upper())

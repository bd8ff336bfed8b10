"""An agent that knows the solution."""

from typing import Any

from gem_core import Action, BaseAgent, Env, Info, Observation

__all__ = ["SolutionOracle"]


class SolutionOracle(BaseAgent):
    """An agent that runs the solution of each step of the task, and finishes."""

    def reset(self, env: Env) -> None:
        """Start an episode."""
        self._env: Any = env.unwrapped
        self._begun = -1

    def act(self, observation: Observation, info: Info) -> Action:
        """Run the solution of the step; while it runs, wait; then finish."""
        if self._begun < self._env.steps_ended:
            self._begun = self._env.steps_ended
            return str(self._env.solution())
        return self._env.bash("") if self._env.is_running else str(self._env.finish_action)

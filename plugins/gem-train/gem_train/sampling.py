"""The agents that sample from the policy with an engine."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from gem_core.agent import Agent
from gem_rollout.tokens.agent import TokenAgent
from gem_rollout.tokens.limits import Limits
from gem_train.collector import CutIsInvalid
from gem_train.config import TrainConfig
from gem_train.engines import Engine
from gem_train.parts import make_part
from gem_train.policy import Policy
from gem_train.specs import ENGINES

__all__ = ["Sampling"]

_OF_AGENTS = {"history", "stop", "system", "template", "top_p"}
"""Fields of ``SamplingConfig`` that are parameters of the agents."""


class Sampling:
    """Makes the agents of a run, and gives them the weights of each step.

    Args:
        policy: The policy.
        config: The configuration of the run.
        folder: The folder of the engine.
        make_agent: Makes the agents; None for those of ``config``.
    """

    def __init__(
        self,
        policy: Policy,
        config: TrainConfig,
        folder: Path,
        make_agent: Callable[[], Agent] | None = None,
    ) -> None:
        self._config = config
        self.engine: Engine | None = None
        """What samples; None if the agents are not ours."""
        if make_agent is None:
            self.engine = make_part(ENGINES, config.sampling.engine, policy, config, folder)
        temperature, eval_temperature = config.sampling.temperature, config.eval.temperature
        self.make_agent = make_agent or self._maker(temperature)
        """Makes an agent for training."""
        self.make_eval_agent = make_agent or self._maker(
            temperature if eval_temperature is None else eval_temperature
        )
        """Makes an agent for evaluation."""

    def send_weights(self, step: int) -> None:
        """Give the weights to a sampling model that has a copy of them; their version is the step.

        Args:
            step: Number of finished steps.
        """
        if self.engine is not None:
            self.engine.send_weights(step)
            sampler: Any = self.engine.sampler
            sampler.version = step

    def metrics(self) -> dict[str, float]:
        """Return how often memory ran out in sampling and replies had to wait, if they did."""
        limits = None if self.engine is None else getattr(self.engine.sampler, "limits", None)
        if limits is None or not (limits.memory_errors or limits.preemptions):
            return {}
        return {
            "sampler/memory_errors": float(limits.memory_errors),
            "sampler/preemptions": float(limits.preemptions),
            "sampler/rows": float(limits.rows),
        }

    def _maker(self, temperature: float) -> Callable[[], Agent]:
        sampling, engine = self._config.sampling, self.engine
        if engine is None:
            raise TypeError("the agents are not ours")
        sampler = engine.sampler
        limits = Limits(turn_tokens=sampling.max_new_tokens, context=sampler.context)

        def make() -> Agent:
            agent = TokenAgent(
                sampler,
                name=self._config.model,
                limits=limits,
                temperature=temperature,
                seed=self._config.seed,
                scaled_logprobs=True,
                **sampling.model_dump(include=_OF_AGENTS),
            )
            return CutIsInvalid(agent) if sampling.cut_is_invalid else agent

        return make

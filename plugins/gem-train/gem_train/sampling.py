"""The agents that sample from the policy, in this process or with vLLM."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from gem_core import make_agent as make_agent_by_id
from gem_core.agent import Agent
from gem_train.collector import CutIsInvalid
from gem_train.config import TrainConfig
from gem_train.policy import Policy
from gem_train.remote import AdapterSync

__all__ = ["Sampling"]

_NOT_OF_AGENTS = {
    "cut_is_invalid",
    "engine",
    "kv_tokens",
    "max_gap",
    "server",
    "temperature",
    "vllm",
}
"""Fields of ``SamplingConfig`` that are not parameters of every agent that samples."""


class Sampling:
    """Makes the agents of a run, and gives them the weights of each step.

    Args:
        policy: The policy.
        config: The configuration of the run.
        folder: The folder for adapters, which vLLM reads.
        make_agent: Makes the agents; None for those of ``config``.
    """

    def __init__(
        self,
        policy: Policy,
        config: TrainConfig,
        folder: Path,
        make_agent: Callable[[], Agent] | None = None,
    ) -> None:
        self._policy = policy
        self._config = config
        self._adapters: AdapterSync | None = None
        self.model: Any = None
        """The sampling model that the agents share; None if the agents are not ours."""
        self.make_agent = make_agent or self._maker(config.sampling.temperature)
        """Makes an agent for training."""
        self.make_eval_agent = self.make_agent
        """Makes an agent for evaluation."""
        if make_agent is not None:
            return
        if config.sampling.engine == "vllm":
            self._adapters = AdapterSync(self.model, folder)
        if config.eval.temperature is not None:
            self.make_eval_agent = self._maker(config.eval.temperature)

    def send_weights(self, step: int) -> None:
        """Give the weights to a sampling model that has a copy of them; their version is the step.

        Args:
            step: Number of finished steps.
        """
        if self._adapters is not None:
            self._adapters(self._policy, step)
        if self.model is not None:
            self.model.version = step

    def metrics(self) -> dict[str, float]:
        """Return how often memory ran out in sampling and replies had to wait, if they did."""
        limits = getattr(self.model, "limits", None)
        if limits is None or not (limits.memory_errors or limits.preemptions):
            return {}
        return {
            "sampler/memory_errors": float(limits.memory_errors),
            "sampler/preemptions": float(limits.preemptions),
            "sampler/rows": float(limits.rows),
        }

    def _maker(self, temperature: float) -> Callable[[], Agent]:
        sampling = self._config.sampling
        options = sampling.model_dump(exclude=_NOT_OF_AGENTS)
        options |= {
            "temperature": temperature,
            "seed": self._config.seed,
            "scaled_logprobs": True,
        }
        own = self._vllm_options() if sampling.engine == "vllm" else self._local_options()
        # While one agent exists, the state that all of them share is kept between steps.
        first: Any = make_agent_by_id(sampling.engine, **options, **own)
        self.model = first.sampler
        own = {"model": self.model} if sampling.engine == "vllm" else own

        def make() -> Agent:
            agent: Agent = type(first)(**options, **own)
            return CutIsInvalid(agent) if sampling.cut_is_invalid else agent

        return make

    def _local_options(self) -> dict[str, Any]:
        return {
            "model": self._policy.model,
            "tokenizer": self._policy.processor,
            "batch_size": self._config.rollout.concurrency,
            "kv_tokens": self._config.sampling.kv_tokens,
        }

    def _vllm_options(self) -> dict[str, Any]:
        if self.model is not None:  # of the agents for training
            return {"model": self.model}
        return {
            "model": self._config.model,
            "base_url": self._config.sampling.server,
            "engine": self._config.sampling.vllm,
            "tokenizer": self._policy.tokenizer,
            "end_ids": self._policy.end_ids,
        }

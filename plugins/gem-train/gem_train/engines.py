"""Engines: what samples from the policy in training.

Our own and those of other plugins are chosen in the same way, with ``sampling.engine``.
"""

import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gem_core import make_agent
from gem_core.errors import ConfigError
from gem_rollout.tokens.sampler import SamplingModel
from gem_train.config import TrainConfig
from gem_train.policy import Policy

__all__ = ["Engine", "TransformersEngine", "VllmEngine"]


class Engine:
    """Makes a model that samples, and keeps its weights those of the policy.

    Subclass it, and set ``sampler`` in ``__init__``, which may have further parameters: keys of
    ``sampling.engine``. The sampler must take its temperature from each request, and return the
    log-probabilities at this temperature (``scaled_logprobs``).

    Args:
        policy: The policy.
        config: The configuration of the run.
        folder: A folder of the engine's own, for example for weights; it may not exist.
    """

    sampler: SamplingModel
    """The model that all agents of the run share."""

    def __init__(self, policy: Policy, config: TrainConfig, folder: Path) -> None:
        self.policy = policy
        self.config = config
        self.folder = folder

    def send_weights(self, step: int) -> None:
        """Give the sampler the policy's weights, if it has a copy of them.

        It is called before the first step and after each one, while nothing is sampled.

        Args:
            step: Number of finished steps.
        """


class TransformersEngine(Engine):
    """The model that learns also samples, in this process; see the agent ``transformers``.

    Args:
        policy: The policy.
        config: The configuration of the run.
        folder: Not used.
        kv_tokens: Most tokens of the KV cache, padding included: the responses that began last
            wait while there is no room. None for no limit.
    """

    def __init__(
        self, policy: Policy, config: TrainConfig, folder: Path, *, kv_tokens: int | None = None
    ) -> None:
        super().__init__(policy, config, folder)
        agent: Any = make_agent(
            "transformers",
            model=policy.model,
            tokenizer=policy.processor,
            batch_size=config.rollout.concurrency,
            kv_tokens=kv_tokens,
        )
        self.sampler = agent.sampler


class VllmEngine(Engine):
    """vLLM, on a server or in this process; see the agent ``vllm``.

    Before each step it gets the adapters of the policy, or in this process all weights of a policy
    without adapters. They are written to the folder, of which the newest are kept.

    Args:
        policy: The policy.
        config: The configuration of the run.
        folder: The folder for weights; a server must be able to read it.
        server: Base URL of a vLLM server, including /v1; None for vLLM in this process.
        options: Arguments of vLLM's engine in this process, such as ``gpu_memory_utilization``.

    Raises:
        ConfigError: The server would have to receive all weights, ``sampling.top_p`` is below 1, or
            the log-probabilities are not those at the temperature.
    """

    def __init__(
        self,
        policy: Policy,
        config: TrainConfig,
        folder: Path,
        *,
        server: str | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(policy, config, folder)
        if config.sampling.top_p < 1:
            raise ConfigError(
                "sampling.top_p below 1 contradicts the engine 'vllm': its log-probabilities would "
                "be those of the most likely tokens alone, and the learner's are of all tokens."
            )
        if server is not None and not policy.has_adapters:
            raise ConfigError(
                "A vLLM server receives adapters only: set lora, such as lora.r=16, or sample with "
                "vLLM in this process, without sampling.engine.server."
            )
        options = dict(options or {})
        if server is None:
            options = {"enable_lora": policy.has_adapters, **options}
        agent: Any = make_agent(
            "vllm",
            model=config.model,
            base_url=server,
            engine=options,
            tokenizer=policy.tokenizer,
            end_ids=policy.end_ids,
            temperature=config.sampling.temperature,
            scaled_logprobs=True,
        )
        self.sampler = self._receiver = agent.sampler
        # vLLM keys its prefix cache by the name of adapters, and may still have those of an
        # earlier run.
        self._run = secrets.token_hex(4)
        self._before: Path | None = None

    def send_weights(self, step: int) -> None:
        """Make the sampler sample from the current policy.

        Raises:
            ConnectionError: The sampler is a server that cannot be reached, or refuses.
        """
        name = f"policy-{self._run}-{step:06d}"
        path = self.folder / name
        self.policy.save(path)
        if self.policy.has_adapters:
            self._receiver.use_adapters(name, str(path.resolve()))
        else:
            self._receiver.use_weights(str(path.resolve()))
        if self._before is not None and self._before != path:
            shutil.rmtree(self._before, ignore_errors=True)
        self._before = path

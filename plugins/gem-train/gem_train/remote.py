"""Sampling with vLLM: it gets the adapters before each step, under a name of their own."""

import secrets
import shutil
from pathlib import Path
from typing import Any

from gem_core.errors import ConfigError
from gem_train.policy import Policy

__all__ = ["AdapterSync"]


class AdapterSync:
    """Writes a policy's adapters to a folder, and makes a sampler use them.

    The name has the step, and a part that differs in every process: vLLM keys its prefix cache by
    the name, and may still have the adapters of an earlier run.

    Args:
        sampler: A sampling model with ``use_adapters(name, path)``, such as those of the agent
            ``vllm``.
        folder: The folder for adapters; only the newest are kept.
    """

    def __init__(self, sampler: Any, folder: Path) -> None:
        self._sampler = sampler
        self._folder = folder
        self._run = secrets.token_hex(4)
        self._before: Path | None = None

    def __call__(self, policy: Policy, step: int) -> None:
        """Make the sampler sample from the current policy.

        Args:
            policy: A policy with adapters.
            step: Number of finished steps.

        Raises:
            ConfigError: The policy has no adapters.
            ConnectionError: The sampler is a server that cannot be reached, or refuses.
        """
        if not policy.has_adapters:
            raise ConfigError("vLLM only receives adapters: set lora, such as lora.r=16.")
        name = f"policy-{self._run}-{step:06d}"
        path = self._folder / name
        policy.save(path)
        self._sampler.use_adapters(name, str(path.resolve()))
        if self._before is not None and self._before != path:
            shutil.rmtree(self._before, ignore_errors=True)
        self._before = path

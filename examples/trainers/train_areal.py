"""Environments in AReaL: a dataset, one batch on the CPU, and the call that trains.

AReaL trains on GPUs only. What runs here is its workflow executor; a small model with random
weights takes the place of its servers::

    pip install 'gem-adapters[areal]' gem-agents gem-games gem-tools torch
    python examples/trainers/train_areal.py
"""

import sys
from pathlib import Path

from gem_core.extras import needed_by_script

with needed_by_script("pip install 'gem-adapters[areal]' gem-agents gem-games gem-tools torch"):
    from areal.api import ModelRequest, ModelResponse
    from areal.api.cli_args import GenerationHyperparameters, InferenceEngineConfig
    from areal.infra import WorkflowExecutor
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from gem_adapters.areal import GemWorkflow
    from gem_adapters.rows import rows
    from gem_agents.local_model import LocalModel
    from gem_rollout import FaultPolicy
    from gem_rollout.models.tiny_model import save_tiny_model
    from gem_rollout.tokens.sampler import Request

ENV = "game:GuessTheNumber-v0-easy"


class CpuEngine:
    """Samples on the CPU what AReaL's servers sample on GPUs."""

    def __init__(self, folder: str) -> None:
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        model = AutoModelForCausalLM.from_pretrained(folder)
        self._model = LocalModel(model, self.tokenizer, batch_size=16)

    def get_version(self) -> int:
        """Return the version of the weights."""
        return 0

    async def agenerate(self, request: ModelRequest) -> ModelResponse:
        """Sample a reply."""
        room = request.gconfig.max_new_tokens
        sampled = await self._model.submit(Request(request.input_ids, room))
        return ModelResponse(
            input_tokens=request.input_ids,
            output_tokens=sampled.ids,
            output_logprobs=sampled.logprobs,
            output_versions=[0] * len(sampled.ids),
            stop_reason="stop" if sampled.is_complete else "length",
        )


def main(folder: Path) -> None:
    """Play some rows as AReaL's trainer does."""
    engine = CpuEngine(save_tiny_model(folder / "model"))
    workflow = GemWorkflow(
        GenerationHyperparameters(max_new_tokens=16, max_tokens=4096),
        engine.tokenizer,
        config=["tools=[python]"],
        policy=FaultPolicy(turn_deadline=60),
    )
    # PPOTrainer.train(workflow=workflow) of AReaL plays and trains with the same workflow.
    dataset = rows(ENV, 8, layout="areal")
    config = InferenceEngineConfig(max_concurrent_rollouts=8, consumer_batch_size=8)
    executor = WorkflowExecutor(config, engine)
    executor.initialize(train_data_parallel_size=1)
    try:
        for tensors in executor.rollout_batch(dataset, workflow):
            sampled, reward = int(tensors["loss_mask"].sum()), float(tensors["rewards"])
            print(f"{sampled} of {tensors['input_ids'].shape[1]} tokens sampled, reward {reward}")
    finally:
        executor.destroy()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "runs/areal"))

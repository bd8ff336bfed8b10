"""Environments in verl: a dataset, one batch on the CPU, and the command of a training run.

verl trains on GPUs only. What runs here is its agent loop worker, with its own configuration; a
small model with random weights takes the place of its servers::

    pip install 'gem-adapters[verl]' gem-agents gem-games gem-tools torch
    python examples/trainers/train_verl.py
"""

import asyncio
import sys
from pathlib import Path
from typing import Any

from gem_core.extras import needed_by_script

with needed_by_script("pip install 'gem-adapters[verl]' gem-agents gem-games gem-tools torch"):
    from hydra import compose, initialize_config_module
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from verl.experimental.agent_loop import AgentLoopWorker
    from verl.protocol import DataProto
    from verl.utils.dataset.rl_dataset import RLHFDataset, collate_fn
    from verl.workers.rollout.replica import TokenOutput

    from gem_adapters.rows import rows
    from gem_adapters.verl import agent_loop_config
    from gem_agents.local_model import LocalModel
    from gem_rollout.models.tiny_model import save_tiny_model
    from gem_rollout.tokens.sampler import Request

ENV = "game:GuessTheNumber-v0-easy"


class CpuServer:
    """Samples on the CPU what verl's servers sample on GPUs."""

    def __init__(self, folder: str) -> None:
        model = AutoModelForCausalLM.from_pretrained(folder)
        self._model = LocalModel(model, AutoTokenizer.from_pretrained(folder), batch_size=16)

    async def generate(
        self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any], **_: Any
    ) -> TokenOutput:
        """Sample a reply of at most 16 tokens."""
        room = min(16, sampling_params["max_tokens"])
        sampled = await self._model.submit(Request(prompt_ids, room))
        return TokenOutput(token_ids=sampled.ids, log_probs=sampled.logprobs)


def main(folder: Path) -> None:
    """Write the dataset and the model, and play a batch."""
    folder.mkdir(parents=True, exist_ok=True)
    model, file = save_tiny_model(folder / "model"), str(folder / "train.parquet")
    rows(ENV, 256, layout="verl", path=file)
    overrides = [
        f"actor_rollout_ref.model.path={model}",
        f"data.train_files={file}",
        "actor_rollout_ref.rollout.name=vllm",
        "actor_rollout_ref.rollout.prompt_length=2048",
        "actor_rollout_ref.rollout.response_length=2048",
        "actor_rollout_ref.rollout.calculate_log_probs=true",
        f"actor_rollout_ref.rollout.agent.agent_loop_config_path={agent_loop_config()}",
        "+tools=[python]",
        "+gem.turn_deadline=60",
    ]
    print("A run on GPUs:\npython -m verl.trainer.main_ppo " + " ".join(map(repr, overrides)))
    with initialize_config_module("verl.trainer.config", version_base=None):
        config = compose("ppo_trainer", overrides=overrides)
    worker = AgentLoopWorker(config, CpuServer(model))
    data = RLHFDataset(file, worker.tokenizer, config.data)
    batch = DataProto.from_single_dict(collate_fn([data[number] for number in range(4)]))
    batch.pop(batch_keys=["dummy_tensor"])
    played = asyncio.run(worker.generate_sequences(batch.repeat(4, interleave=True)))
    print("sampled tokens:", played.batch["response_mask"].sum(1).tolist())
    print("scores:", [round(score, 3) for score in played.batch["rm_scores"].sum(1).tolist()])
    print("scores of the turns:", played.non_tensor_batch["turn_scores"].tolist()[0])


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "runs/verl").absolute())

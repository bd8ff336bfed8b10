"""Reads transitions as Oat's learner does, for ``test_oat.py``; they come as JSON on stdin.

Oat's own code makes the transitions, the metrics, the advantages and the batches. What it imports
for GPUs, servers and graders is replaced by nothing, as some of it does not exist for this Python.
"""

import importlib.abc
import importlib.machinery
import json
import sys
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import torch

ABSENT = {
    *("Levenshtein", "datasets", "deepspeed", "einops", "httpx", "latex2sympy2_extended"),
    *(
        "launchpad",
        "math_verify",
        "mosec",
        "msgspec",
        "oat.rm",
        "openai",
        "pandas",
        "peft",
        "pyarrow",
    ),
    *("pylatexenc", "rich", "scipy", "transformers", "tyro", "vllm"),
}
"""Packages that the parts of Oat below import and do not use."""


class Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports empty packages."""

    def find_spec(self, name: str, *_: Any) -> importlib.machinery.ModuleSpec | None:
        if not any(f"{name}.".startswith(f"{absent}.") for absent in ABSENT):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module: ModuleType = MagicMock(__spec__=spec, __path__=[])
        return module

    def exec_module(self, module: ModuleType) -> None:
        pass


sys.meta_path.insert(0, Absent())

from oat.algorithms.ppo_multiturn import (  # noqa: E402
    MultiTurnFeedbackCollector,
    MultiTurnTransitionDataset,
    PPOMultiTurnActor,
    PPOMultiTurnLearner,
)
from oat.types import Transition  # noqa: E402


def main(given: dict[str, Any]) -> dict[str, Any]:
    """Return the metrics, the advantages and a batch of all turns."""
    episodes = [[Transition(**fields) for fields in one] for one in given["episodes"]]
    actor = SimpleNamespace(
        collect_experience=lambda: (episodes, {}),
        ipc_client=SimpleNamespace(serialize_ipc=lambda data: data),
    )
    episodes = PPOMultiTurnActor.step(actor)
    metrics = MultiTurnFeedbackCollector.get_metrics(None, 1.0, episodes)
    learner = SimpleNamespace(
        critic=None,
        args=SimpleNamespace(
            gamma=given["gamma"], lam=1.0, rollout_batch_size_per_device=10**6, dump_all_buffer=0
        ),
        pi_buffer=[],
        query_step=0,
    )
    learner.compute_advantages = PPOMultiTurnLearner.compute_advantages.__get__(learner)
    PPOMultiTurnLearner.process_feedback_data(learner, episodes)
    strategy = SimpleNamespace(is_rank_0=lambda: False, args=SimpleNamespace(dry_run=False))
    tokenizer = SimpleNamespace(pad_token_id=0)
    dataset = MultiTurnTransitionDataset(learner.pi_buffer, tokenizer, strategy)
    batch = dataset.collate_fn([dataset[number] for number in range(len(dataset))])
    masks = PPOMultiTurnLearner.get_completion_mask(
        None, batch["attention_mask"], batch["prompt_ids_lens"]
    )
    return {
        "returns": [float(value) for value in batch["returns"]],
        "success": float(metrics["actor/mean_episode_success"]),
        "length": float(metrics["actor/mean_episode_len"]),
        "response_ids": [
            ids[mask].tolist() for ids, mask in zip(batch["input_ids"], masks, strict=True)
        ],
        "logprobs": batch["action_logprobs"],
        "loss_masks": batch["loss_masks"],
        "rewards": torch.tensor(batch["rewards"]).tolist(),
    }


if __name__ == "__main__":
    print(json.dumps(main(json.load(sys.stdin))))

"""Oat's own actor and learner, for ``test_oat.py``: prints the batch that they make, as JSON.

The second argument is a file of episodes under ``learn``, and under ``act`` a model, whose
tokenizer the actor of ``examples/trainers/oat_actor.py`` uses. vLLM is replaced by random replies,
and what else Oat imports for GPUs, servers and graders by nothing, as not all of it exists for this
Python.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import json
import random
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import torch
from tokenizers import Tokenizer

ABSENT = {
    *("Levenshtein", "datasets", "deepspeed", "einops", "httpx", "latex2sympy2_extended"),
    *("launchpad", "math_verify", "mosec", "msgspec", "oat.rm", "openai", "pandas", "peft"),
    *("pyarrow", "pylatexenc", "rich", "scipy", "transformers", "tyro", "vllm"),
}
"""Packages that the parts of Oat below import and do not use."""
ACTOR = Path(__file__).parents[3] / "examples" / "trainers" / "oat_actor.py"
END = 2


class Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports empty packages."""

    def find_spec(self, name: str, *_: Any) -> importlib.machinery.ModuleSpec | None:
        if not any(f"{name}.".startswith(f"{absent}.") for absent in ABSENT):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module: ModuleType = MagicMock(__spec__=spec, __path__=[], __version__="0.8.4")
        return module

    def exec_module(self, module: ModuleType) -> None:
        pass


sys.meta_path.insert(0, Absent())

import vllm  # noqa: E402
from oat.algorithms.ppo_multiturn import (  # noqa: E402
    MultiTurnFeedbackCollector,
    MultiTurnTransitionDataset,
    PPOMultiTurnActor,
    PPOMultiTurnLearner,
)
from oat.types import Transition  # noqa: E402


class SamplingParams(SimpleNamespace):
    """The parameters of vLLM that are set, and no others."""

    def clone(self) -> "SamplingParams":
        return SamplingParams(**vars(self))


class LLM:
    """Replies with random guesses; a reply that has no room for its end is cut off."""

    def __init__(self, *, model: str, **_: Any) -> None:
        self.tokenizer = Tokenizer.from_file(f"{model}/tokenizer.json")
        self.rng = random.Random(0)

    def get_tokenizer(self) -> Any:
        return SimpleNamespace(bos_token=None)

    def generate(self, *, prompt_token_ids: Any, sampling_params: Any, **_: Any) -> list[Any]:
        return [
            SimpleNamespace(prompt_token_ids=ids, outputs=[self.reply(one) for _ in range(one.n)])
            for ids, one in zip(prompt_token_ids, sampling_params, strict=True)
        ]

    def reply(self, params: SamplingParams) -> Any:
        text = rf"\boxed{{{self.rng.choice(['12', '21', '34', '56', 'x' * 300])}}}"
        ids = [*self.tokenizer.encode(text).ids, END][: params.max_tokens]
        logprobs = [{one: SimpleNamespace(logprob=-one / 64), -1: None} for one in ids]
        reason = "stop" if ids[-1] == END else "length"
        return SimpleNamespace(token_ids=tuple(ids), logprobs=logprobs, finish_reason=reason)


def stepped(actor: Any) -> Any:
    """Return the episodes of a step of Oat's actor."""
    actor.ipc_client = SimpleNamespace(serialize_ipc=lambda data: data)
    return PPOMultiTurnActor.step(actor)


def given(path: str) -> Any:
    """Return the episodes of a file, after a step."""
    lines = json.loads(Path(path).read_text())
    episodes = [[Transition(**fields) for fields in one] for one in lines]
    return stepped(SimpleNamespace(collect_experience=lambda: (episodes, {})))


def acted(model: str) -> Any:
    """Return the episodes of a step of the example's actor."""
    vllm.LLM, vllm.SamplingParams = LLM, SamplingParams
    spec = importlib.util.spec_from_file_location("oat_actor", ACTOR)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    actor = module.Actor.__new__(module.Actor)
    actor.args = MagicMock(pretrain=model, oracle="", rollout_batch_size_per_device=20)
    actor.args.lora_rank = 0
    actor.ipc_server, actor.vllm_args = None, {"model": model}
    actor.init(3, "")
    try:
        return stepped(actor)
    finally:
        actor.program.stdin.close()
        actor.program.wait()
        actor.program.stdout.close()


def learnt(episodes: Any, gamma: float) -> dict[str, Any]:
    """Return what Oat's learner makes of episodes."""
    metrics = MultiTurnFeedbackCollector.get_metrics(None, 1.0, episodes)
    args = SimpleNamespace(gamma=gamma, lam=1.0, dump_all_buffer=False)
    args.rollout_batch_size_per_device = 10**6
    learner = SimpleNamespace(critic=None, args=args, pi_buffer=[], query_step=0)
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
        "length": float(metrics["actor/mean_episode_len"]),
        "lengths": [len(episode) for episode in episodes],
        "response_ids": [
            ids[mask].tolist() for ids, mask in zip(batch["input_ids"], masks, strict=True)
        ],
        "response_logprobs": batch["action_logprobs"],
        "is_truncated": [turn.response_is_truncated for one in episodes for turn in one],
        "loss_mask": batch["loss_masks"],
        "rewards": torch.tensor(batch["rewards"], dtype=torch.float64).tolist(),
    }


if __name__ == "__main__":
    mode, path, gamma = sys.argv[1:]
    print(json.dumps(learnt((acted if mode == "act" else given)(path), float(gamma))))

"""The conformance suite's harness of ``gem_adapters.trl.rollout``."""

import json
import operator
import tempfile
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

import transformers
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from gem_adapters.testing.adapters import Case, Harness, Played, ScriptedModel
from gem_adapters.trl.rollout import episode_rewards, rollout
from gem_rollout import Prompt, Sampled
from gem_rollout.models.tiny_model import save_tiny_model
from gem_rollout.records.rows import Row

__all__ = ["HARNESS"]


class TrlRollout(Harness):
    """Plays cases through ``GRPOTrainer._generate_and_score_completions``."""

    name = "trl.rollout"
    distribution = "trl"
    versions = ("1.16.0",)
    one_sequence = True
    takes = frozenset({"scalar", "logprobs", "limits"})
    faults = "masked"

    def play(self, case: Case) -> list[Played]:
        rewards: list[float | None] = []
        turns: list[int] = []

        def seen(*, episode_reward: Sequence[float | None], **columns: Any) -> list[float | None]:
            rewards.extend(episode_reward)
            turns.extend(columns["turns"])
            return episode_rewards(episode_reward=episode_reward)

        trainer = _trainer()
        trainer.processing_class = case.tokenizer
        trainer.num_generations = case.samples
        trainer.reward_funcs = [seen]
        trainer.rollout_func = rollout(
            case.config, limits=case.limits, policy=case.policy, engine=_engine(case.model)
        )
        texts = [json.dumps(row, default=operator.index) for row in case.rows]
        messages = [[{"role": "user", "content": text}] for text in texts]
        inputs = [{"prompt": one} for one in messages for _ in range(case.samples)]
        trainer.model.train()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of TRL and transformers, about themselves
            held = trainer._generate_and_score_completions(inputs)  # noqa: SLF001 - its own path
        return [_played(held, number, reward) for number, reward in enumerate(rewards)]


def _engine(model: ScriptedModel) -> Any:
    def reply(prompt: Prompt) -> Sampled | BaseException | None:
        try:
            return model.sample(prompt.ids, prompt.room)
        except Exception as error:  # noqa: BLE001 - the suite tells the model to raise
            return error

    return lambda _, asked: [reply(prompt) for prompt in asked]


@cache
def _trainer() -> Any:
    """Return a trainer of a tiny model."""
    folder = tempfile.mkdtemp(prefix="gem-trl-")
    save_tiny_model(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return GRPOTrainer(
            model=transformers.AutoModelForCausalLM.from_pretrained(folder),
            processing_class=transformers.AutoTokenizer.from_pretrained(folder),
            args=GRPOConfig(
                output_dir=folder,
                per_device_train_batch_size=8,
                max_completion_length=4000,
                use_cpu=True,
                report_to=[],
            ),
            train_dataset=Dataset.from_list([{"prompt": "{}"}]),
            reward_funcs=[episode_rewards],
            rollout_func=rollout(),
        )


def _played(held: dict[str, Any], number: int, reward: float | None) -> Played:
    """Return an episode as TRL holds it."""
    prompt = held["prompt_mask"][number].bool()
    response = held["completion_mask"][number].bool()
    row = Row(
        prompt_ids=held["prompt_ids"][number][prompt].tolist(),
        response_ids=held["completion_ids"][number][response].tolist(),
        mask=held["tool_mask"][number][response].bool().tolist(),
        logprobs=held["sampling_per_token_logps"][number][response].tolist(),
        reward=reward or 0.0,
    )
    return Played([row], "row" if reward is not None else "masked")


HARNESS = TrlRollout()

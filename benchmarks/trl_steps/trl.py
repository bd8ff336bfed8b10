"""TRL's ``GRPOTrainer``: rewards by ``reward_funcs``, several turns by a ``rollout_func``."""
# mypy: ignore-errors
# TRL is not installed where mypy runs.

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import datasets
import torch
import transformers
import trl
from trl import GRPOConfig, GRPOTrainer

from trl_steps.setting import INVALID_ACTION, Clock, Setting

__all__ = ["train"]


def train(setting: Setting, clock: Clock) -> None:
    """Train until all steps are done."""
    torch.set_num_threads(setting.threads)
    tokenizer = transformers.AutoTokenizer.from_pretrained(setting.model)
    rows = [_row(setting, seed) for seed in range(setting.prompts * setting.steps)]
    own: dict[str, Any] = {"reward_funcs": _judge(setting, tokenizer)}
    if setting.multi_turn:
        own = {"reward_funcs": _returns, "rollout_func": _rollout(setting, tokenizer)}
    with tempfile.TemporaryDirectory() as folder:
        trainer = _Timed(
            model=setting.model,
            args=_config(setting, folder),
            train_dataset=datasets.Dataset.from_list(rows),
            processing_class=tokenizer,
            **own,
        )
        trainer.add_callback(_Steps(trainer, clock, setting))
        trainer.train()


class _Timed(GRPOTrainer):
    """Measures the time for sampling and rewards."""

    sampling_seconds = 0.0

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        began = time.perf_counter()
        output = super()._generate_and_score_completions(inputs)
        self.sampling_seconds = time.perf_counter() - began
        return output


class _Steps(transformers.TrainerCallback):
    """Reports each step to the clock."""

    def __init__(self, trainer: Any, clock: Clock, setting: Setting) -> None:
        self._trainer = trainer
        self._clock = clock
        self._episodes = setting.episodes

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        names = {"trl": trl, "torch": torch, "transformers": transformers}
        self._clock.ready({name: module.__version__ for name, module in names.items()})

    def on_step_end(self, *_: Any, **__: Any) -> None:
        last = {name: values[-1] for name, values in _metrics(self._trainer).items()}
        self._clock.stepped(
            sampling=self._trainer.sampling_seconds,
            tokens=round(last["completions/mean_length"] * self._episodes),
            turns=last.get("turns", 1.0),
            reward=last["reward"],
        )


def _config(setting: Setting, folder: str) -> GRPOConfig:
    return GRPOConfig(
        output_dir=folder,
        use_cpu=True,
        bf16=False,
        model_init_kwargs={"dtype": "float32"},
        gradient_checkpointing=False,
        per_device_train_batch_size=setting.episodes,
        gradient_accumulation_steps=1,
        num_generations=setting.completions,
        max_completion_length=setting.max_new_tokens,
        max_steps=setting.steps,
        temperature=setting.temperature,
        beta=0.0,
        learning_rate=setting.lr,
        adam_beta1=setting.betas[0],
        adam_beta2=setting.betas[1],
        weight_decay=0.0,
        max_grad_norm=setting.max_grad_norm,
        lr_scheduler_type="constant",
        seed=setting.seed,
        report_to="none",
        logging_strategy="no",
        save_strategy="no",
        disable_tqdm=True,
    )


def _row(setting: Setting, seed: int) -> dict[str, Any]:
    """Return a start state; a ``rollout_func`` is given prompts alone, so there it is the seed."""
    if setting.multi_turn:
        return {"prompt": [{"role": "user", "content": str(seed)}]}
    observation, _ = setting.make_env().reset(seed=seed)
    return {"prompt": [{"role": "user", "content": observation}], "seed": seed}


def _judge(setting: Setting, tokenizer: Any) -> Callable[..., list[float]]:
    """Return a reward function: a step of the environment."""

    def reward(
        completions: Sequence[Sequence[Mapping[str, str]]],
        completion_ids: Sequence[Sequence[int]],
        seed: Sequence[int],
        **_: Any,
    ) -> list[float]:
        found = []
        for said, ids, one in zip(completions, completion_ids, seed, strict=True):
            env = setting.make_env()
            env.reset(seed=one)
            is_cut = ids[-1] != tokenizer.eos_token_id
            found.append(env.step(INVALID_ACTION if is_cut else said[0]["content"]).reward)
        return found

    return reward


class _Episode:
    """An episode of several turns, as tokens.

    Args:
        setting: Makes the environment.
        tokenizer: The model's.
        seed: Of the start state.
    """

    def __init__(self, setting: Setting, tokenizer: Any, seed: int) -> None:
        self._env = setting.make_env()
        self._tokenizer = tokenizer
        self.prompt = self._asked(self._env.reset(seed=seed)[0])
        self.completion: list[int] = []
        self.mask: list[int] = []
        self.total, self.turns, self.is_over = 0.0, 0, False

    def _asked(self, observation: Any, before: str = "") -> list[int]:
        text = self._tokenizer.apply_chat_template(
            [{"role": "user", "content": observation}], add_generation_prompt=True, tokenize=False
        )
        ids: list[int] = self._tokenizer(before + text, add_special_tokens=False)["input_ids"]
        return ids

    def add(self, ids: Sequence[int], text: str) -> None:
        """Take a response, and the observation that follows it."""
        self.completion += ids
        self.mask += [1] * len(ids)
        is_cut = ids[-1] != self._tokenizer.eos_token_id
        step = self._env.step(INVALID_ACTION if is_cut else text)
        self.total += step.reward
        self.turns += 1
        self.is_over = step.terminated or step.truncated
        if not self.is_over:
            # The template writes a newline after the end-of-message token.
            asked = self._asked(step.observation, before="\n")
            self.completion += asked
            self.mask += [0] * len(asked)


def _rollout(setting: Setting, tokenizer: Any) -> Callable[[Any, Any], dict[str, Any]]:
    """Return a rollout function: TRL's own generation for each turn of the live episodes."""

    def rollout(prompts: Any, trainer: Any) -> dict[str, Any]:
        episodes = [_Episode(setting, tokenizer, int(one[0]["content"])) for one in prompts]
        while live := [one for one in episodes if not one.is_over]:
            so_far = [one.prompt + one.completion for one in live]
            replies, _ = trainer._generate_single_turn(so_far, None, {}, 1)  # noqa: SLF001 - as its own loop of tool calls does
            texts = tokenizer.batch_decode(replies, skip_special_tokens=True)
            for one, ids, text in zip(live, replies, texts, strict=True):
                one.add(ids, text)
        turns = sum(one.turns for one in episodes) / len(episodes)
        _metrics(trainer)["turns"].append(turns)
        return {
            "prompt_ids": [one.prompt for one in episodes],
            "completion_ids": [one.completion for one in episodes],
            "env_mask": [one.mask for one in episodes],
            "logprobs": None,
            "episode_return": [one.total for one in episodes],
        }

    return rollout


def _metrics(trainer: Any) -> Any:
    """Return TRL's own figures, lists with a value for each step."""
    return trainer._metrics["train"]  # noqa: SLF001 - logging is off


def _returns(episode_return: list[float], **_: Any) -> list[float]:
    """Return what the episodes of the rollout brought."""
    return episode_return

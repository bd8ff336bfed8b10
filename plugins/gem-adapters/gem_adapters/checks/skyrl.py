"""The conformance suite's harness of ``gem_adapters.skyrl.GemGenerator``."""

import asyncio
import sys
import typing
from typing import Any

import typing_extensions

from gem_adapters.rows import skyrl_layout
from gem_adapters.testing.adapters import Case, Harness, Played, ScriptedModel
from gem_core.errors import ConfigError
from gem_rollout.records.rows import Row

_plain = typing.TypedDict
if sys.version_info < (3, 12):  # pydantic reads SkyRL's types with this one only
    typing.TypedDict = typing_extensions.TypedDict
try:
    from skyrl.train.dataset.preprocess import convert_prompts_responses_to_batch_tensors
    from skyrl.train.generators.base import GeneratorInput, TrajectoryID

    from gem_adapters.skyrl.generator import GemGenerator
finally:
    typing.TypedDict = _plain

__all__ = ["HARNESS"]


class SkyRLGenerator(Harness):
    """Plays a case, and reads the tensors that SkyRL makes of the generator's output."""

    name = "skyrl"
    distribution = "skyrl"
    versions = ("0.3.0",)
    one_sequence = True
    takes = frozenset({"token_rewards", "logprobs", "limits"})
    faults = "masked"

    def play(self, case: Case) -> list[Played]:
        if case.one_sequence == "split":
            raise ConfigError("SkyRL takes one sequence of an episode.")
        columns = [skyrl_layout(row) for row in case.rows for _ in range(case.samples)]
        generator = GemGenerator(
            case.tokenizer,
            _InferenceClient(case.model),
            config=case.config,
            limits=case.limits,
            policy=case.policy,
            one_sequence=case.one_sequence,
        )
        batch = GeneratorInput(
            prompts=[row["prompt"] for row in columns],
            env_classes=[row["env_class"] for row in columns],
            env_extras=columns,
            sampling_params={"temperature": 1.0, "logprobs": 1},
            trajectory_ids=[
                TrajectoryID(str(number), number % case.samples) for number in range(len(columns))
            ],
            batch_metadata=None,
        )
        return _held(asyncio.run(generator.generate(batch)), case.tokenizer)


class _InferenceClient:
    """The client of SkyRL's engines, with a scripted model behind it."""

    def __init__(self, model: ScriptedModel) -> None:
        self._model = model

    async def generate(self, batch: dict[str, Any]) -> dict[str, Any] | None:
        (ids,) = batch["prompt_token_ids"]
        sampled = await self._model.asample(ids, batch["sampling_params"].get("max_tokens"))
        if sampled is None:
            return None
        return {
            "responses": [self._model.tokenizer.decode(sampled.ids)],
            "response_ids": [sampled.ids],
            "stop_reasons": ["stop" if sampled.is_complete else "length"],
            "response_logprobs": [sampled.logprobs],
        }


def _held(output: Any, tokenizer: Any) -> list[Played]:
    """Return the rows of SkyRL's tensors."""
    prompts, responses = output["prompt_token_ids"], output["response_ids"]
    sequences, attention, masks, rewards, losses, logprobs, *_ = (
        convert_prompts_responses_to_batch_tensors(
            tokenizer,
            prompts,
            responses,
            output["rewards"],
            output["loss_masks"],
            output["rollout_logprobs"],
        )
    )
    played = []
    for number, reason in enumerate(output["stop_reasons"]):
        ids = sequences[number][attention[number].bool()].tolist()
        kept = masks[number].bool()
        row = Row(
            prompt_ids=ids[: len(prompts[number])],
            response_ids=ids[len(prompts[number]) :],
            mask=losses[number][kept].bool().tolist(),
            logprobs=logprobs[number][kept].tolist(),
            token_rewards=rewards[number][kept].tolist(),
        )
        played.append(Played([row], "masked" if reason == "error" else "row"))
    return played


HARNESS = SkyRLGenerator()

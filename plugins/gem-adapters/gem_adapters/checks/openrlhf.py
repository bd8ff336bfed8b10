"""OpenRLHF's own rollout actor and experiences, with an engine of scripted replies."""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace
from typing import Any

from gem_adapters.checks._groups import played_episodes
from gem_adapters.openrlhf import AgentExecutor
from gem_adapters.rows import openrlhf_layout
from gem_adapters.testing.adapters import Case, Harness, Played, ScriptedModel
from gem_rollout.records.rows import Row

__all__ = ["HARNESS", "experiences", "load", "row_of_experience"]

_UNLIMITED = 2**20
"""The context of cases without one; OpenRLHF always has a limit."""


_VLLM = {
    "vllm": ("SamplingParams",),
    "vllm.inputs": ("TokensPrompt",),
    "vllm.utils": ("random_uuid",),
}
"""What OpenRLHF imports from vLLM, by module."""


def _without_vllm() -> tuple[Any, Any]:
    """Return two modules of OpenRLHF, which import vLLM and here do without it."""
    missing = {} if find_spec("vllm") else {name: ModuleType(name) for name in _VLLM}
    for name, names in _VLLM.items():
        for one in names if missing else ():
            setattr(missing[name], one, dict)
    sys.modules.update(missing)
    try:
        from openrlhf.trainer.ppo_utils import samples_generator  # noqa: PLC0415
        from openrlhf.trainer.ray import vllm_engine  # noqa: PLC0415
    finally:
        for name in missing:
            del sys.modules[name]
    return vllm_engine, samples_generator


_ENGINES, _SAMPLES = _without_vllm()
_ACTOR = _ENGINES.RolloutRayActor.__ray_metadata__.modified_class
load = _ENGINES._load_agent_executor  # noqa: SLF001
"""OpenRLHF's function that makes the executor of a file."""


class _Harness(Harness):
    """The actor's ``generate_responses``, and the experiences that OpenRLHF makes of them."""

    name = "openrlhf"
    distribution = "openrlhf"
    versions = ("0.11.2",)
    one_sequence = True
    takes = frozenset({"scalar", "logprobs", "limits", "truncated"})
    faults = "masked"

    def play(self, case: Case) -> list[Played]:
        """Play all groups of a case at the same time."""
        executor = AgentExecutor(
            config=case.config,
            limits=case.limits,
            policy=case.policy,
            one_sequence="last" if case.one_sequence == "last" else "raise",
        )
        context = case.limits.context or _UNLIMITED
        groups = experiences(
            executor, case.rows, case.tokenizer, case.model, context, samples=case.samples
        )
        return played_episodes(groups, case.samples, lambda group: map(_played, group))


def _played(experience: Any) -> Played:
    if not experience.action_mask.any():
        return Played([], "masked")
    return Played([row_of_experience(experience)])


def experiences(
    executor: AgentExecutor,
    rows: Sequence[dict[str, Any]],
    tokenizer: Any,
    model: ScriptedModel,
    context: int,
    *,
    samples: int = 1,
    **params: Any,
) -> list[list[Any] | BaseException]:
    """Return the experiences of each row, or the error of its group.

    Args:
        executor: The executor.
        rows: The rows.
        tokenizer: The tokenizer.
        model: The model that replies.
        context: OpenRLHF's ``max_len``.
        samples: Number of episodes of each row.
        **params: Sampling parameters.
    """
    actor = object.__new__(_ACTOR)
    actor.executor, actor.llm, actor._mm_pad_token_ids = executor, _LLM(model), None
    generator = object.__new__(_SAMPLES.SamplesGenerator)
    asked = SimpleNamespace(**{"max_tokens": None, "logprobs": 1, **params})

    async def group(row: dict[str, Any]) -> list[Any]:
        line = openrlhf_layout(row)
        responses = await actor.generate_responses(
            line["input"], line["label"], asked, context, tokenizer, num_samples=samples
        )
        make = generator._process_response_into_experience
        return [make(response, max_len=context) for response in responses]

    async def play() -> list[list[Any] | BaseException]:
        return await asyncio.gather(*map(group, rows), return_exceptions=True)

    return asyncio.run(play())


def row_of_experience(experience: Any) -> Row:
    """Return the row that OpenRLHF trains on.

    Args:
        experience: An ``Experience`` of one episode with a sampled token.
    """
    ids = experience.sequences[0].tolist()
    mask = [False, *map(bool, experience.action_mask[0].tolist())]
    first = mask.index(True)
    row = Row(ids[:first], ids[first:], mask[first:], [], float(experience.rewards[0]))
    if experience.rollout_log_probs is not None:
        row.logprobs = experience.rollout_log_probs[0].tolist()[first - 1 :]
    row.truncated = bool(experience.truncated[0])
    return row


class _LLM:
    """Generates as ``AsyncLLMEngine`` of vLLM does."""

    def __init__(self, model: ScriptedModel) -> None:
        self._model = model

    async def generate(
        self, prompt: Any, params: Any, request_id: Any = None
    ) -> AsyncIterator[SimpleNamespace]:
        sampled = await self._model.asample(prompt["prompt_token_ids"], params.max_tokens)
        if sampled is None:
            return
        logprobs = [
            {token: SimpleNamespace(logprob=value)}
            for token, value in zip(sampled.ids, sampled.logprobs, strict=False)
        ]
        reason = "stop" if sampled.is_complete else "length"
        reply = SimpleNamespace(token_ids=sampled.ids, logprobs=logprobs, finish_reason=reason)
        yield SimpleNamespace(outputs=[reply])


HARNESS = _Harness()

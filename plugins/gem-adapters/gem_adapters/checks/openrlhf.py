"""OpenRLHF's executor of agents, with an engine of scripted replies."""

import asyncio
from types import SimpleNamespace
from typing import Any

from gem_adapters.openrlhf import AgentExecutor, layout
from gem_rollout.rows import Row
from gem_rollout.testing.adapters import Case, Harness, Played, ScriptedModel

__all__ = ["HARNESS", "OpenRLHFHarness"]

UNLIMITED = 2**20
"""OpenRLHF always has a limit of tokens."""


class OpenRLHFHarness(Harness):
    """``AgentExecutor.execute``, called as OpenRLHF's engine does."""

    name = "openrlhf"
    distribution = "openrlhf"
    versions = ("0.11.2",)
    one_sequence = True
    takes = frozenset({"scalar", "logprobs", "limits", "truncated"})
    faults = "masked"

    def play(self, case: Case) -> list[Played]:
        """Return the rows of all episodes."""
        return asyncio.run(_play(case))


async def _play(case: Case) -> list[Played]:
    limits = case.limits
    executor = AgentExecutor(
        config=case.config,
        limits=limits,
        policy=case.policy,
        one_sequence="last" if case.one_sequence == "last" else "raise",
    )
    engine = _Engine(case.model)
    context = (limits.context if limits else None) or UNLIMITED
    calls = [
        executor.execute(
            line["input"],
            line["label"],
            SimpleNamespace(max_tokens=None, logprobs=1, stop=None),
            context,
            case.tokenizer,
            engine,
        )
        for line in map(layout, case.rows)
        for _ in range(case.samples)
    ]
    results = await asyncio.gather(*calls, return_exceptions=True)
    numbered = enumerate(results)
    return [_played(case, number, result) for number, result in numbered]


def _played(case: Case, number: int, result: Any) -> Played:
    if isinstance(result, BaseException):
        return Played([], "raised", str(result))
    ids, ranges = result["observation_tokens"], result["action_ranges"]
    if not ranges:
        return Played([], "masked", "")
    first = ranges[0][0]
    row = Row(ids[:first], ids[first:], [], result["rollout_log_probs"][first:], result["reward"])
    row.spans = [(start - first, end - first) for start, end in ranges]
    row.mask = [any(a <= place < b for a, b in row.spans) for place in range(len(ids) - first)]
    row.truncated = result["truncated"]
    group, row.sample = divmod(number, case.samples)
    row.group = row.index = case.rows[group].get("index", 0)
    return Played([row], "row", "")


class _Engine:
    """Generates as the engine of OpenRLHF does."""

    def __init__(self, model: ScriptedModel) -> None:
        self._model = model

    async def generate(self, ids: list[int], params: Any, multi_modal_data: Any = None) -> Any:
        sampled = await self._model.sample(ids, params.max_tokens)
        logprobs = [
            {token: SimpleNamespace(logprob=value)}
            for token, value in zip(sampled.ids, sampled.logprobs, strict=False)
        ]
        reason = "stop" if sampled.is_complete else "length"
        reply = SimpleNamespace(token_ids=sampled.ids, logprobs=logprobs, finish_reason=reason)
        return SimpleNamespace(outputs=[reply])


HARNESS = OpenRLHFHarness()

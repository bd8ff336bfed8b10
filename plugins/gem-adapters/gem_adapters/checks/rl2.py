"""RL2's own ``SampleGroup``, with a local server of scripted replies in place of SGLang."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from omegaconf import OmegaConf
from RL2.datasets import Sample, SampleGroup
from RL2.utils.communication import with_session

from gem_adapters.checks._groups import played_episodes
from gem_adapters.checks._sglang import SglangServer, serve
from gem_adapters.rl2 import Generate
from gem_adapters.testing.adapters import Case, Harness, Played, ScriptedModel
from gem_rollout.records.rows import Row

__all__ = ["HARNESS", "play", "rows_of_group"]

_UNLIMITED = 2**20
"""The length of replies in cases without a limit."""


class _Harness(Harness):
    """``SampleGroup.generate``, and the tensors that RL2 makes of its samples."""

    name = "rl2"
    distribution = "rl-square"
    versions = ("0.0.2",)
    one_sequence = False
    takes = frozenset({"turn_rewards", "token_rewards", "logprobs", "limits", "truncated"})
    faults = "masked"

    def play(self, case: Case) -> list[Played]:
        """Play all groups of a case at the same time."""
        generate = Generate(
            config=case.config,
            limits=case.limits,
            policy=case.policy,
            one_sequence="split" if case.one_sequence == "split" else "raise",
        )
        groups = play(generate, case.rows, case.tokenizer, case.model, samples=case.samples)
        return played_episodes(
            groups, case.samples, lambda group: map(_played, rows_of_group(group))
        )


def _played(rows: list[Row]) -> Played:
    return Played(rows) if any(any(row.mask) for row in rows) else Played([], "masked")


def play(
    generate: Generate,
    rows: Sequence[dict[str, Any]],
    tokenizer: Any,
    model: ScriptedModel,
    *,
    samples: int = 1,
    partial: bool = True,
    look: Callable[[SampleGroup, SglangServer], None] | None = None,
    server: dict[str, Any] | None = None,
    **sampling: Any,
) -> list[SampleGroup | BaseException]:
    """Return the group of each row, or its error.

    Args:
        generate: The adapter.
        rows: The rows.
        tokenizer: The tokenizer.
        model: The model that replies.
        samples: Number of episodes of each row.
        partial: RL2's ``partial_rollout``. A group is played again until its episodes have ended.
        look: Called with a group before it is played again, and the server.
        server: Further arguments of ``SglangServer``.
        **sampling: Sampling parameters.
    """
    config = OmegaConf.create(
        {
            "responses_per_prompt": samples,
            "partial_rollout": partial,
            "sampling_params": {"temperature": 1.0, "max_new_tokens": _UNLIMITED, **sampling},
        }
    )
    groups = [SampleGroup(config, tokenizer, dict(row)) for row in rows]

    async def finish(group: SampleGroup, served: SglangServer) -> SampleGroup:
        await group.generate(served.url, generate)
        while any(sample.status is Sample.Status.ABORTED for sample in group.samples):
            if look is not None:
                look(group, served)
            await group.generate(served.url, generate)
        return group

    async def run() -> list[SampleGroup | BaseException]:
        async with serve(model, **(server or {})) as served:
            tasks = [finish(group, served) for group in groups]
            return await asyncio.gather(*tasks, return_exceptions=True)

    played: list[SampleGroup | BaseException] = asyncio.run(with_session(run)())
    return played


def rows_of_group(group: SampleGroup) -> list[list[Row]]:
    """Return the rows that RL2 trains on, for each sample of a group.

    Args:
        group: A group whose episodes have ended.
    """
    tensors, metrics = group.to_all_tensor_dicts_and_metrics()
    return [
        [_row(one, truncated=truncated) for one in episode]
        for episode, truncated in zip(tensors, metrics["truncated"], strict=True)
    ]


def _row(tensors: dict[str, Any], *, truncated: bool) -> Row:
    ids = [*tensors["states"].tolist(), tensors["actions"].tolist()[-1]]
    mask = [False, *map(bool, tensors["action_mask"].tolist())]
    first = mask.index(True) if any(mask) else len(mask)
    row = Row(ids[:first], ids[first:], mask[first:], [], truncated=truncated)
    row.logprobs = [0.0, *tensors["llm_logps"].tolist()][first:]
    row.token_rewards = [0.0, *tensors["rewards"].tolist()][first:]
    goes_on = [*row.mask, False][1:]
    row.turn_rewards = [
        reward
        for place, reward in enumerate(row.token_rewards)
        if row.mask[place] and not goes_on[place]
    ]
    return row


HARNESS = _Harness()

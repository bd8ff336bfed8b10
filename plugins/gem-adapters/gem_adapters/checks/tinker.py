"""tinker-cookbook's own rollouts and data, played with scripted replies."""

import asyncio
from collections.abc import Sequence
from typing import Any

from tinker_cookbook.completers import TokenCompleter, TokensWithLogprobs
from tinker_cookbook.rl.rollout_strategy import FailFast, MinViableGroup
from tinker_cookbook.rl.rollouts import do_group_rollout

from gem_adapters.checks.rows_of_data import rows_of_data
from gem_adapters.tinker import GemDataset, GemEnv, GemGroupBuilder
from gem_rollout import RowEnvs
from gem_rollout.testing.adapters import Case, Harness, Played, ScriptedModel

__all__ = ["HARNESS", "TinkerHarness"]


class TinkerHarness(Harness):
    """``do_group_rollout`` and ``trajectory_to_data``."""

    name = "tinker"
    distribution = "tinker-cookbook"
    versions = ("0.5.8", "0.6.1")
    one_sequence = False
    takes = frozenset({"turn_rewards", "logprobs", "limits", "truncated"})
    faults = "dropped"

    def play(self, case: Case) -> list[Played]:
        """Return the data of all episodes."""
        return asyncio.run(_play(case))


async def _play(case: Case) -> list[Played]:
    options = {
        "limits": case.limits,
        "policy": case.policy,
        "one_sequence": case.one_sequence,
    }
    dataset = GemDataset(
        case.rows,
        tokenizer=case.tokenizer,
        group_size=case.samples,
        groups_per_batch=len(case.rows),
        envs=RowEnvs(case.config),
        **options,
    )
    completer = _Completer(case.model)
    is_strict = case.policy is not None and case.policy.on_error == "raise"
    groups = [
        _Group(one.row, one.tokenizer, one.group_size, one.envs, one.options)
        for one in dataset.get_batch(0)
    ]
    played = await asyncio.gather(*(_group(one, completer, strict=is_strict) for one in groups))
    return [one for group in played for one in group]


class _Completer(TokenCompleter):  # type: ignore[misc]  # tinker-cookbook is not imported here
    def __init__(self, model: ScriptedModel) -> None:
        self._model = model

    async def __call__(
        self, model_input: Any, stop: Any, *, max_tokens: int | None = None
    ) -> TokensWithLogprobs:
        sampled = await self._model.sample(model_input.to_ints(), max_tokens)
        reason = "stop" if sampled.is_complete else "length"
        return TokensWithLogprobs(sampled.ids, sampled.logprobs, reason)


class _Group(GemGroupBuilder):
    """Keeps its environments, so that those of dropped episodes can tell their errors."""

    envs_made: Sequence[GemEnv] = ()

    async def make_envs(self) -> Sequence[GemEnv]:
        self.envs_made = await super().make_envs()
        return self.envs_made


async def _group(builder: _Group, completer: _Completer, *, strict: bool) -> list[Played]:
    strategy = FailFast() if strict else MinViableGroup(min_successful=1, max_retries=0)
    outcome, text = ("raised", "") if strict else ("dropped", "")
    found: dict[int, Any] = {}
    try:
        group = await do_group_rollout(builder, completer, strategy=strategy)
        found = {one.transitions[-1].logs["sample"]: one for one in group.trajectories_G}
        text = "; ".join(one.error_message for one in group.rollout_errors)
    except Exception as error:  # noqa: BLE001 - the outcome of the group
        text = f"{type(error).__name__}: {error}"
    played = []
    for sample, env in enumerate(builder.envs_made):
        if sample in found:
            played.append(Played(rows_of_data(found[sample]), "row", ""))
        else:
            error = env.session.trajectory.error or {}
            played.append(Played([], outcome, str(error.get("message") or text)))
    return played


HARNESS = TinkerHarness()

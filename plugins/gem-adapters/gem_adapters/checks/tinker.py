"""tinker-cookbook's own rollouts and data, with scripted replies."""

import asyncio
from typing import Any

from tinker_cookbook.completers import TokenCompleter, TokensWithLogprobs
from tinker_cookbook.exceptions import AllTrajectoriesFailedError
from tinker_cookbook.rl.rollout_strategy import MinViableGroup
from tinker_cookbook.rl.rollouts import do_group_rollout

from gem_adapters.checks._rows_of_data import rows_of_data
from gem_adapters.testing.adapters import Case, Harness, Played, ScriptedModel
from gem_adapters.tinker import GemDataset, GemGroupBuilder
from gem_core.errors import ConfigError
from gem_rollout import RowEnvs

__all__ = ["HARNESS"]


class _Harness(Harness):
    """``do_group_rollout`` with the strategy that drops episodes, and ``trajectory_to_data``."""

    name = "tinker"
    distribution = "tinker-cookbook"
    versions = ("0.5.8", "0.6.1")
    takes = frozenset({"turn_rewards", "logprobs", "limits", "truncated"})
    faults = "dropped"

    def play(self, case: Case) -> list[Played]:
        """Play the groups of a case at the same time."""
        dataset = GemDataset(
            case.rows,
            tokenizer=case.tokenizer,
            group_size=case.samples,
            groups_per_batch=len(case.rows),
            envs=RowEnvs(case.config),
            limits=case.limits,
            policy=case.policy,
            one_sequence=case.one_sequence,
        )
        return asyncio.run(_play(dataset, _Completer(case.model)))


class _Completer(TokenCompleter):  # type: ignore[misc]  # tinker-cookbook is not imported here
    def __init__(self, model: ScriptedModel) -> None:
        self._model = model

    async def __call__(
        self, model_input: Any, stop: Any, *, max_tokens: int | None = None
    ) -> TokensWithLogprobs | None:
        sampled = await self._model.asample(model_input.to_ints(), max_tokens)
        if sampled is None:
            return None
        reason = "stop" if sampled.is_complete else "length"
        return TokensWithLogprobs(sampled.ids, sampled.logprobs, reason)


async def _play(dataset: GemDataset, completer: _Completer) -> list[Played]:
    groups = await asyncio.gather(*(_group(one, completer) for one in dataset.get_batch(0)))
    return [played for group in groups for played in group]


async def _group(builder: GemGroupBuilder, completer: _Completer) -> list[Played]:
    strategy = MinViableGroup(min_successful=1, max_retries=0)
    try:
        group = await do_group_rollout(builder, completer, strategy=strategy)
    except AllTrajectoriesFailedError:
        error = await _error_of(builder, completer)
        return [Played([], "dropped", error)] * builder.group_size
    except Exception as error:  # noqa: BLE001 - the trainer skips the group
        return [Played([], "dropped", f"{type(error).__name__}: {error}")] * builder.group_size
    errors = "; ".join(one.error_message for one in group.rollout_errors)
    dropped = Played([], "dropped", errors)
    rows = {one.transitions[-1].logs["sample"]: one for one in group.trajectories_G}
    return [
        Played(rows_of_data(rows[sample])) if sample in rows else dropped
        for sample in range(builder.group_size)
    ]


async def _error_of(builder: GemGroupBuilder, completer: _Completer) -> str:
    """Return the error of a group of which no episode is left, from the default strategy.

    Raises:
        ConfigError: The group cannot be played at all.
    """
    try:
        await do_group_rollout(builder, completer)
    except ConfigError:
        raise
    except Exception as error:  # noqa: BLE001 - its text is the result
        return f"{type(error).__name__}: {error}"
    return ""


HARNESS = _Harness()

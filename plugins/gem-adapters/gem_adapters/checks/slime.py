"""slime's own ``generate_and_rm_group``, with a local server of scripted replies as its router."""

import asyncio
import json
import operator
import tempfile
from argparse import Namespace
from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from slime.rollout.sglang_rollout import GenerateState, generate_and_rm_group
from slime.utils import async_utils, http_utils
from slime.utils.data import Dataset
from slime.utils.types import Sample

from gem_adapters.checks._groups import played_episodes
from gem_adapters.checks._sglang import SglangServer, serve
from gem_adapters.slime import Generate
from gem_adapters.testing.adapters import Case, Harness, Played, ScriptedModel
from gem_rollout.records.rows import Row

__all__ = ["HARNESS", "generate", "make_args", "play", "read_samples", "row_of_sample"]

_UNLIMITED = 2**20
"""The length of replies in cases without a limit."""


class _Harness(Harness):
    """``generate_and_rm_group``, and the samples that it returns."""

    name = "slime"
    distribution = "slime"
    versions = ("0.3.1",)
    one_sequence = False
    takes = frozenset({"scalar", "logprobs", "limits", "truncated"})
    faults = "masked"

    def play(self, case: Case) -> list[Played]:
        """Play all groups of a case at the same time."""
        adapter = Generate(
            config=case.config,
            limits=case.limits,
            policy=case.policy,
            one_sequence=case.one_sequence,
            max_retries=1,
        )
        lines = [{"text": "", "metadata": row} for row in case.rows]
        groups = play(adapter, lines, case.tokenizer, case.model, samples=case.samples)
        return played_episodes(groups, case.samples, lambda group: map(_played, group))


def _played(episode: Sample | list[Sample]) -> Played:
    samples = episode if isinstance(episode, list) else [episode]
    if any(sample.remove_sample for sample in samples):
        return Played([], "masked", samples[0].metadata["error"]["message"])
    return Played([row_of_sample(sample) for sample in samples])


async def generate(
    args: Any,
    sample: Sample,
    sampling_params: dict[str, Any],
    evaluation: bool = False,  # noqa: FBT001, FBT002 - slime's signature
) -> Any:
    """Call the adapter of ``args``; slime finds this by its name."""
    return await args.adapter(args, sample, sampling_params, evaluation=evaluation)


def make_args(adapter: Generate, samples: int = 1, **changes: Any) -> Namespace:
    """Return slime's arguments, as far as they are read to generate.

    Args:
        adapter: The adapter.
        samples: Number of episodes of each row.
        **changes: Arguments with other values than the defaults.
    """
    defaults = {
        "adapter": adapter,
        "custom_generate_function_path": f"{__name__}.generate",
        "custom_reward_post_process_path": "gem_adapters.slime.group_rewards",
        "custom_rm_path": None,
        "advantage_estimator": "grpo",
        "eval_max_context_len": None,
        "eval_reward_key": None,
        "group_rm": False,
        "grpo_std_normalization": True,
        "hf_checkpoint": "",
        "mask_offpolicy_in_partial_rollout": False,
        "n_samples_per_prompt": samples,
        "partial_rollout": False,
        "reward_key": None,
        "rewards_normalization": True,
        "rm_type": None,
        "rollout_max_context_len": None,
        "rollout_max_response_len": _UNLIMITED,
        "rollout_num_engines": 1,
        "rollout_seed": 0,
        "rollout_skip_special_tokens": False,
        "rollout_stop": None,
        "rollout_stop_token_ids": None,
        "rollout_temperature": 1.0,
        "rollout_top_k": -1,
        "rollout_top_p": 1.0,
        "sglang_dp_size": 1,
        "sglang_server_concurrency": 512,
        "use_distributed_post": False,
        "use_rollout_routing_replay": False,
    }
    return Namespace(**{**defaults, **changes})


def read_samples(lines: Sequence[dict[str, Any]], tokenizer: Any, count: int) -> list[list[Sample]]:
    """Return the groups that slime makes of a dataset.

    Args:
        lines: Its lines.
        tokenizer: The tokenizer.
        count: Number of samples in a group.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.jsonl")
        written = (json.dumps(line, default=operator.index) + "\n" for line in lines)
        path.write_text("".join(written), encoding="utf-8")
        found = Dataset(str(path), tokenizer, None, None).samples
    groups = [[deepcopy(sample) for _ in range(count)] for sample in found]
    for number, group in enumerate(groups):
        for place, sample in enumerate(group):
            sample.group_index, sample.index = number, number * count + place
    return groups


def play(
    adapter: Generate,
    lines: Sequence[dict[str, Any]],
    tokenizer: Any,
    model: ScriptedModel,
    *,
    samples: int = 1,
    evaluation: bool = False,
    look: Callable[[list[Any], SglangServer], None] | None = None,
    server: dict[str, Any] | None = None,
    **changes: Any,
) -> list[Any]:
    """Return the samples of each line, or its error.

    Args:
        adapter: The adapter.
        lines: Lines of a dataset.
        tokenizer: The tokenizer.
        model: The model that replies.
        samples: Number of episodes of each line.
        evaluation: Whether slime evaluates.
        look: Called with a group before it is played again, as one of its episodes was aborted, and
            the server.
        server: Further arguments of ``SglangServer``.
        **changes: Arguments of slime with other values than the defaults.
    """
    args = make_args(adapter, samples, **changes)
    http_utils.init_http_client(args)
    groups = read_samples(lines, tokenizer, samples)
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save_pretrained(folder)
        GenerateState.clear_instances()
        state = GenerateState(Namespace(**{**vars(args), "hf_checkpoint": folder}))
    state.tokenizer = tokenizer

    async def finish(group: list[Any], served: SglangServer) -> list[Any]:
        while True:
            params = state.sampling_params.copy()
            played: list[Any] = await generate_and_rm_group(args, group, params, evaluation)
            if all(getattr(one, "status", None) is not Sample.Status.ABORTED for one in played):
                return played
            if look is not None:
                look(played, served)
            group = played

    async def run() -> list[Any]:
        async with serve(model, **(server or {})) as served:
            address = urlsplit(served.url)
            args.sglang_router_ip, args.sglang_router_port = address.hostname, address.port
            tasks = [finish(group, served) for group in groups]
            found: list[Any] = await asyncio.gather(*tasks, return_exceptions=True)
            return found

    played: list[Any] = async_utils.run(run())
    return played


def row_of_sample(sample: Sample) -> Row:
    """Return the row that slime trains on for a sample.

    Args:
        sample: A sample whose episode has ended.
    """
    start = len(sample.tokens) - sample.response_length
    return Row(
        prompt_ids=sample.tokens[:start],
        response_ids=sample.tokens[start:],
        mask=[bool(kept) for kept in sample.loss_mask or ()],
        logprobs=list(sample.rollout_log_probs or ()),
        reward=sample.reward,
        truncated=sample.status is Sample.Status.TRUNCATED,
    )


HARNESS = _Harness()
"""The harness."""

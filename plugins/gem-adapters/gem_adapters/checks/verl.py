"""verl, checked through its own ``AgentLoopWorker.generate_sequences`` and composed config."""

import asyncio
import warnings
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from hydra import compose, initialize_config_module
from transformers import Qwen3Config

from gem_adapters.rows import verl_layout
from gem_adapters.testing.adapters import Case, Harness, Played, ScriptedModel
from gem_adapters.verl import write_agent_loop_config
from gem_rollout import Limits, Row

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # verl imports what Ray has deprecated
    from verl.experimental.agent_loop import AgentLoopWorker
    from verl.protocol import DataProto
    from verl.workers.rollout.replica import TokenOutput

__all__ = ["HARNESS", "VerlServer", "batch_of", "make_worker", "rows_of"]


class _Harness(Harness):
    name = "verl"
    distribution = "verl"
    versions = ("0.9.1",)
    one_sequence = True
    takes = frozenset({"turn_rewards", "scalar", "logprobs", "limits", "truncated"})
    faults = "masked"

    def play(self, case: Case) -> list[Played]:
        """Play the rows as one batch."""
        rows = rows_of(self._batch(case))
        for number, row in enumerate(rows):
            row.sample = number % case.samples
        return [_played(row) for row in rows]

    def _batch(self, case: Case) -> DataProto:
        policy = asdict(case.policy)
        policy.pop("min_group")
        with TemporaryDirectory() as folder:
            worker = make_worker(
                folder,
                case.tokenizer,
                VerlServer(case.model),
                limits=case.limits,
                config=case.config or [],
                one_sequence=case.one_sequence,
                **policy,
            )
            batch = batch_of([verl_layout(row) for row in case.rows], case.samples)
            return asyncio.run(worker.generate_sequences(batch))


class VerlServer:
    """Replies with the model of a case, as verl's ``LLMServerClient`` does."""

    def __init__(self, model: ScriptedModel) -> None:
        self._model = model

    async def generate(
        self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any], **_: Any
    ) -> TokenOutput | None:
        sampled = await self._model.asample(prompt_ids, sampling_params.get("max_tokens"))
        if sampled is None:
            return None
        return TokenOutput(
            token_ids=sampled.ids, log_probs=sampled.logprobs, stop_reason="completed"
        )


def _played(row: Row) -> Played:
    if row.error is None:
        return Played([row], "row", "")
    return Played([row], "masked", row.error["message"])


def make_worker(
    folder: str | Path,
    tokenizer: Any,
    server: Any,
    *,
    limits: Limits | None = None,
    overrides: Sequence[str] = (),
    **options: Any,
) -> AgentLoopWorker:
    """Return verl's worker with its composed configuration, outside of Ray.

    Args:
        folder: Where to write the tokenizer, the model's configuration and the YAML.
        tokenizer: A tokenizer of transformers.
        server: What verl asks for replies, in place of its ``LLMServerClient``.
        limits: Limits of tokens.
        overrides: Further overrides of verl's configuration.
        **options: Fields of ``LoopOptions``.
    """
    limits = limits or Limits()
    tokenizer.save_pretrained(folder)
    Qwen3Config(architectures=["Qwen3ForCausalLM"], vocab_size=len(tokenizer)).save_pretrained(
        folder
    )
    options["turn_tokens"] = limits.turn_tokens
    yaml = write_agent_loop_config(Path(folder, "gem.yaml"), **options)
    rollout = {
        "name": "vllm",
        "calculate_log_probs": True,
        "prompt_length": limits.prompt_tokens or 4096,
        "response_length": limits.response_tokens or 8192,
        "max_model_len": "null" if limits.context is None else limits.context,
    }
    chosen = [f"actor_rollout_ref.rollout.{name}={value}" for name, value in rollout.items()]
    config = deepcopy(_composed(*chosen, *overrides))
    config.actor_rollout_ref.rollout.agent.agent_loop_config_path = yaml
    config.actor_rollout_ref.model.path = str(folder)
    return AgentLoopWorker(config, server)


@cache
def _composed(*overrides: str) -> Any:
    """Return verl's configuration, which takes most of a second to compose."""
    with initialize_config_module("verl.trainer.config", version_base=None):
        return compose("ppo_trainer", overrides=list(overrides))


def batch_of(rows: Sequence[Mapping[str, Any]], samples: int = 1) -> DataProto:
    """Return a batch as verl's trainer makes it from a dataset: ``samples`` of each row."""
    columns: dict[str, list[Any]] = {}
    for row in rows:
        for name, value in {**row, "raw_prompt": row["prompt"]}.items():
            columns.setdefault(name, []).extend([value] * samples)
    columns["index"] = [row["extra_info"]["index"] for row in rows for _ in range(samples)]
    arrays = {}
    for name, values in columns.items():
        arrays[name] = np.empty(len(values), dtype=object)
        arrays[name][:] = values
    return DataProto.from_dict(non_tensors=arrays)


def rows_of(batch: DataProto) -> list[Row]:
    """Return the rows that verl's trainer holds after a batch was generated."""
    tensors, fields = batch.batch, batch.non_tensor_batch
    width = tensors["prompts"].shape[1]
    rows = []
    for number in range(len(batch)):
        given, taken = (
            tensors["attention_mask"][number]
            .bool()
            .split([width, len(tensors["responses"][number])])
        )
        logprobs = tensors.get("rollout_log_probs")
        rows.append(
            Row(
                prompt_ids=tensors["prompts"][number][given].tolist(),
                response_ids=tensors["responses"][number][taken].tolist(),
                mask=tensors["response_mask"][number][taken].bool().tolist(),
                logprobs=[] if logprobs is None else logprobs[number][taken].tolist(),
                reward=float(tensors["rm_scores"][number].sum()),
                turn_rewards=list(fields["turn_scores"][number]),
                terminated=fields["gem_terminated"][number],
                truncated=fields["gem_truncated"][number],
                index=int(fields["index"][number]),
                error=fields["gem_error"][number] and {"message": fields["gem_error"][number]},
            )
        )
    return rows


HARNESS = _Harness()

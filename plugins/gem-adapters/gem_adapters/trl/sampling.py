"""Sampling with the model of a trainer of TRL, or with vLLM if the trainer uses that.

Calls of a vLLM server, of vLLM with tensor parallelism, and of a model that is split over processes
are collective: each process must make the same number of them, and TRL divides the replies of a
server into equal parts. A process with fewer prompts therefore adds prompts of one token, and one
whose episodes have ended takes part until those of all processes have (``finish``).
"""

import copy
from contextlib import nullcontext
from typing import Any

import torch
from accelerate.utils import DistributedType, gather_object
from trl.models import unwrap_model_for_generation

from gem_rollout import Prompt, Sampled

__all__ = ["finish", "sample"]

Replies = tuple[list[list[int]], list[list[float]]]


def sample(trainer: Any, asked: list[Prompt]) -> list[Sampled]:
    """Sample a reply to each prompt.

    Log-probabilities are those at the trainer's temperature.
    """
    return _round(trainer, asked) or []


def finish(trainer: Any) -> None:
    """Take part in the calls of other processes until their episodes have ended."""
    while _is_collective(trainer) and _round(trainer, []) is not None:
        pass


def _is_collective(trainer: Any) -> bool:
    accelerator = trainer.accelerator
    if accelerator.num_processes == 1:
        return False
    if trainer.use_vllm:
        return bool(trainer.vllm_mode == "server" or trainer.vllm_tensor_parallel_size > 1)
    return accelerator.distributed_type in {DistributedType.FSDP, DistributedType.DEEPSPEED}


def _round(trainer: Any, asked: list[Prompt]) -> list[Sampled] | None:
    """Return the replies; None if no process asks."""
    device = trainer.accelerator.device
    ids = [prompt.ids for prompt in asked]
    most = max((prompt.room or trainer.max_completion_length for prompt in asked), default=1)
    # A thread begins with the first GPU as its current one, which collective calls use.
    with torch.cuda.device(device) if device.type == "cuda" else nullcontext():
        if _is_collective(trainer):
            sizes = gather_object([(len(ids), most)])
            count = max(size for size, _ in sizes)
            if count == 0:
                return None
            most = max(room for _, room in sizes)
            ids += [[trainer.processing_class.pad_token_id]] * (count - len(ids))
        generate = _with_vllm if trainer.use_vllm else _with_transformers
        replies, logprobs = generate(trainer, ids, most)
    ends = set(trainer.eos_token_ids)
    sampled = []
    for prompt, tokens, values in zip(asked, replies, logprobs, strict=False):
        end = next((at + 1 for at, one in enumerate(tokens) if one in ends), len(tokens))
        end = min(end, prompt.room or end)
        kept = list(tokens[:end])
        sampled.append(Sampled(kept, list(values[:end]), bool(kept) and kept[-1] in ends))
    return sampled


def _with_vllm(trainer: Any, ids: list[list[int]], most: int) -> Replies:
    engine = trainer.vllm_generation
    usual, engine.max_completion_length = engine.max_completion_length, most
    try:
        _, replies, found, _ = engine.generate(prompts=ids, images=None, num_generations=1)
    finally:
        engine.max_completion_length = usual
    return replies, [[value[0] for value in each] for each in found]


def _with_transformers(trainer: Any, asked: list[list[int]], most: int) -> Replies:
    longest = max(map(len, asked))
    pad, device = trainer.processing_class.pad_token_id, trainer.accelerator.device
    ids = [[pad] * (longest - len(each)) + each for each in asked]
    mask = [[0] * (longest - len(each)) + [1] * len(each) for each in asked]
    config = copy.copy(trainer.generation_config)
    config.max_new_tokens = most
    config.return_dict_in_generate = config.output_logits = True
    with (
        unwrap_model_for_generation(
            trainer.model_wrapped,
            trainer.accelerator,
            gather_deepspeed3_params=trainer.args.ds3_gather_for_generation,
            generation_kwargs=trainer.generation_kwargs,
            gradient_checkpointing_kwargs=trainer.args.gradient_checkpointing_kwargs,
        ) as model,
        torch.no_grad(),
        trainer._dist.summon_full_params(trainer.model_wrapped, recurse=False),  # noqa: SLF001
    ):
        found = model.generate(
            input_ids=torch.tensor(ids, device=device),
            attention_mask=torch.tensor(mask, device=device),
            generation_config=config,
        )
    new = found.sequences[:, longest:]
    temperature = trainer.temperature or 1.0
    each = [
        (logits.float() / temperature).log_softmax(-1).gather(-1, new[:, at, None])
        for at, logits in enumerate(found.logits)
    ]
    return new.tolist(), torch.cat(each, dim=-1).tolist()

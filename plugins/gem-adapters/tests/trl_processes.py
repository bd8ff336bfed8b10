"""One of two processes that play different episodes with one vLLM server, for ``test_trl.py``.

TRL's own ``VLLMGeneration`` collects the prompts and divides the replies; only the server's client
is replaced.
"""

import os
import sys
from types import SimpleNamespace
from typing import Any

RANK, PORT = int(sys.argv[1]), sys.argv[2]
os.environ |= {
    "RANK": str(RANK),
    "LOCAL_RANK": str(RANK),
    "WORLD_SIZE": "2",
    "MASTER_ADDR": "127.0.0.1",
    "MASTER_PORT": PORT,
}

import torch  # noqa: E402
from accelerate import Accelerator  # noqa: E402
from trl.generation.vllm_generation import VLLMGeneration  # noqa: E402

from gem_adapters.trl.rollout import prompts as rows_of  # noqa: E402
from gem_adapters.trl.rollout import rollout  # noqa: E402
from gem_rollout import Limits, Prompt, Sampled  # noqa: E402
from gem_rollout.models.tiny_model import make_tiny_tokenizer  # noqa: E402

LONGEST = 500
ROOM = 12


def reply(tokenizer: Any, ids: list[int]) -> list[int]:
    """Return a reply that depends on the whole prompt, and goes on after its end."""
    text = str(sum(at * one for at, one in enumerate(ids)) % 10) + "<|im_end|>later"
    return list(tokenizer(text).input_ids)


class Client:
    """Answers as a server of vLLM does."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer

    def generate(self, prompts: list[list[int]], **options: Any) -> dict[str, Any]:
        assert options["n"] == 1
        assert options["max_tokens"] == ROOM
        found = [reply(self.tokenizer, ids) for ids in prompts]
        logprobs = [[[-0.5] for _ in ids] for ids in found]
        return {"prompt_ids": prompts, "completion_ids": found, "logprobs": logprobs}


def main() -> None:
    """Compare the episodes with those that the process plays alone."""
    accelerator = Accelerator(cpu=True)
    tokenizer = make_tiny_tokenizer()
    engine = object.__new__(VLLMGeneration)
    vars(engine).update(
        mode="server",
        accelerator=accelerator,
        vllm_client=Client(tokenizer),
        max_completion_length=LONGEST,
        logprobs=0,
        structured_outputs_regex=None,
        generation_kwargs={},
    )
    vars(engine).update(dict.fromkeys(("temperature", "top_p", "repetition_penalty"), 1.0))
    vars(engine).update(top_k=0, min_p=None)
    trainer = SimpleNamespace(
        accelerator=accelerator,
        args=SimpleNamespace(vllm_max_model_length=None),
        eos_token_ids=[tokenizer.eos_token_id],
        max_completion_length=LONGEST,
        model=SimpleNamespace(config=SimpleNamespace(max_position_embeddings=4096)),
        processing_class=tokenizer,
        use_vllm=True,
        vllm_mode="server",
        vllm_generation=engine,
        vllm_tensor_parallel_size=1,
    )

    def alone(_: Any, asked: list[Prompt]) -> list[Sampled]:
        found = [reply(tokenizer, prompt.ids)[:2] for prompt in asked]
        return [Sampled(ids, [-0.5] * len(ids), True) for ids in found]

    env, count = (("conformance:Turns", 1), ("conformance:Game", 3))[RANK]
    batch = [row["prompt"] for row in rows_of(env, count)]
    limits = Limits(turn_tokens=ROOM)
    together = rollout(limits=limits)(batch, trainer)
    assert together == rollout(limits=limits, engine=alone)(batch, trainer)
    assert max(together["turns"]) > 1
    assert engine.max_completion_length == LONGEST
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()

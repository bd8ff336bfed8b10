"""Peak memory of a learning step of real models, counted without running one.

    python benchmarks/training_memory.py

The tensors of a forward and a backward pass exist only as shapes (``FakeTensorMode``), and
``gem_train.allocations`` counts their bytes. Fragmentation, workspaces of kernels and the sampler's
KV cache are not included. Writes ``results/training_memory.md``.
"""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers
from torch._subclasses.fake_tensor import FakeTensorMode

from gem_train.allocations import Allocations
from gem_train.token_scores import token_scores

RESULT = Path(__file__).parent / "results" / "training_memory.md"
ROWS, LENGTH = 16, 1024
COMMON = {
    "vocab_size": 151936,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "tie_word_embeddings": True,
}
SHAPES = {
    "0.6B": {**COMMON, "hidden_size": 1024, "intermediate_size": 3072},
    "1.7B": {**COMMON, "hidden_size": 2048, "intermediate_size": 6144},
}
"""The shapes of Qwen 3, from its published configurations."""
STATE = {"AdamW": 16, "AdamW in 8 bits": 10}
"""Bytes per parameter besides the weight in bfloat16: master, gradient and moments."""
HEAD = """\
# Memory of a learning step

Made by `python benchmarks/training_memory.py`. Counted on a CPU, tensor by tensor, from shapes
alone; `gpu.md` has what a GPU needs. Models with the shapes of Qwen 3, `precision=bf16`, one part
of {tokens:,} tokens ({rows} rows of {length:,}), torch {torch}, transformers {transformers}. GiB.

| model | gradient checkpointing | logits | weights | passes | step, AdamW | step, 8 bits |
|---|---|---|---:|---:|---:|---:|
"""


def plain(model: Any, ids: torch.Tensor) -> torch.Tensor:
    """Return the sum of log-probabilities by the plain formula."""
    logits = model(input_ids=ids, use_cache=False).logits.float()
    return logits.log_softmax(-1).gather(-1, ids[..., None]).sum()


def chunked(model: Any, ids: torch.Tensor) -> torch.Tensor:
    """Return the same in chunks."""
    hidden = model.base_model(input_ids=ids, use_cache=False)[0]
    scores = token_scores(hidden.flatten(0, 1), model.lm_head.weight, ids.flatten())
    return scores.logprobs.sum()


def peak_of(
    shape: dict[str, Any],
    loss: Callable[[Any, torch.Tensor], torch.Tensor],
    *,
    checkpointing: bool,
) -> tuple[int, int]:
    """Return the number of parameters, and the peak of a forward and a backward pass in bytes."""
    with FakeTensorMode():
        model = transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**shape))
        for one in model.parameters():
            one.data = one.data.to(torch.bfloat16)
        model.train()
        if checkpointing:
            model.get_input_embeddings().register_forward_hook(
                lambda _module, _inputs, output: output.requires_grad_()
            )
            model.gradient_checkpointing_enable({"use_reentrant": False})
        with Allocations() as allocations:
            loss(model, torch.zeros(ROWS, LENGTH, dtype=torch.long)).backward()
        return sum(one.numel() for one in model.parameters()), allocations.peak


def whole_step(count: int, peak: int) -> dict[str, int]:
    """Return the peak of a learning step in bytes by optimiser.

    Args:
        count: The number of parameters.
        peak: The peak of its passes, with the gradients in bfloat16, which move to float32 one by
            one.
    """
    return {name: more * count + peak for name, more in STATE.items()}


def main() -> None:
    """Write the table."""
    versions = {"torch": torch.__version__, "transformers": transformers.__version__}
    text = HEAD.format(tokens=ROWS * LENGTH, rows=ROWS, length=LENGTH, **versions)
    cases = itertools.product(SHAPES, (False, True), {"whole": plain, "chunks": chunked}.items())
    for name, checkpointing, (kind, loss) in cases:
        count, peak = peak_of(SHAPES[name], loss, checkpointing=checkpointing)
        whole = whole_step(count, peak).values()
        numbers = " | ".join(f"{one / 2**30:.1f}" for one in (2 * count, peak, *whole))
        text += f"| {name} | {'yes' if checkpointing else 'no'} | {kind} | {numbers} |\n"
        RESULT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

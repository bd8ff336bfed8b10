"""Training on a GPU; skipped where there is none."""

import pytest
import torch
from models import trainer_of

from gem_rollout.models.tiny_model import save_tiny_model
from gem_train.token_scores import token_scores

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no CUDA GPU"),
]


@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_a_run_on_a_gpu_samples_from_the_policy_that_learns(tmp_path, precision):
    folder = save_tiny_model(tmp_path / "model")
    trainer = trainer_of(folder, tmp_path / "run", device="cuda", precision=precision, steps=2)
    assert trainer.train()
    limit = 1e-3 if precision == "float32" else 0.05
    assert trainer.metrics["train/mean_sampler_gap"] < limit


def test_scores_take_the_memory_of_one_chunk_on_a_gpu():
    vocabulary, hidden, count, chunk = 32_000, 256, 8192, 2**26
    weight = torch.randn(vocabulary, hidden, device="cuda", dtype=torch.bfloat16)
    states = torch.randn(count, hidden, device="cuda", dtype=torch.bfloat16).requires_grad_()
    ids = torch.randint(vocabulary, (count,), device="cuda")
    scores = token_scores(states[:8], weight, ids[:8])  # workspaces of the libraries
    scores.logprobs.sum().backward()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    token_scores(states, weight, ids, chunk_bytes=chunk).logprobs.sum().backward()
    assert torch.cuda.max_memory_allocated() - before <= 1.2 * chunk + 2 * states.nbytes


def test_too_little_memory_for_the_batch_makes_it_smaller_on_a_gpu(tmp_path):
    """The cache of the whole batch would take more than the process may have."""
    folder = save_tiny_model(tmp_path / "model", hidden=256, context=4096)
    trainer = trainer_of(
        folder,
        tmp_path / "run",
        device="cuda",
        steps=1,
        rollout={"episodes": 64, "concurrency": 64},
        sampling={"max_new_tokens": 512},
    )
    total = torch.cuda.get_device_properties(0).total_memory
    used = torch.cuda.memory_reserved()
    torch.cuda.set_per_process_memory_fraction((used + 2**27) / total)
    try:
        trainer._collect()
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert trainer._sampling.engine.sampler.limits.memory_errors > 0

"""How many threads a pass takes."""

import pytest
import torch
import transformers

from gem_rollout.models.tiny_model import save_tiny_model
from gem_rollout.models.torch_threads import TorchThreads


@pytest.fixture
def threads(tmp_path):
    model = transformers.AutoModelForCausalLM.from_pretrained(save_tiny_model(tmp_path))
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield TorchThreads(model)
    torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("tokens", "width", "taken"),
    [(1, 1, 1), (64, 100, 1), (100_000, 100, 2), (64, 100_000, 2), (1, 10**9, 2)],
)
def test_small_passes_take_one_and_large_ones_all(threads, tokens, width, taken):
    with threads.limited(tokens, width):
        assert torch.get_num_threads() == taken
    assert torch.get_num_threads() == 2


def test_after_an_error_there_are_as_many_as_before(threads):
    with pytest.raises(ValueError, match="broken"), threads.limited(1, 1):
        raise ValueError("broken")
    assert torch.get_num_threads() == 2

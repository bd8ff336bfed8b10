"""How many threads a pass takes."""

import pytest

torch = pytest.importorskip("torch")

import transformers  # noqa: E402

from gem_core.torch_threads import TorchThreads  # noqa: E402

CONFIG = transformers.Qwen3Config(
    vocab_size=64,
    hidden_size=32,
    intermediate_size=64,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    head_dim=8,
)


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield TorchThreads(transformers.AutoModelForCausalLM.from_config(CONFIG))
    torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("tokens", "width", "taken"),
    [(1, 1, 1), (64, 100, 1), (100_000, 100, 2), (64, 100_000, 2), (1, 10**9, 2)],
)
def test_small_passes_take_one_and_large_ones_all(threads, tokens, width, taken):
    with threads.of(tokens, width):
        assert torch.get_num_threads() == taken
    assert torch.get_num_threads() == 2


def test_after_an_error_there_are_as_many_as_before(threads):
    with pytest.raises(ValueError, match="broken"), threads.of(1, 1):
        raise ValueError("broken")
    assert torch.get_num_threads() == 2

"""Limits small forward passes on the CPU to one thread.

An operation that several threads share starts by waking them and ends when the last one is done. A
pass consists of hundreds of operations. If one thread finishes an operation in the time that it
takes to wake the others, using several threads is slower.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["TorchThreads"]

_SMALL = 2**23
"""Multiplications per operation below which one thread is faster than several."""

_FEW = 16
"""Tokens that take as long as a single one, because the weights have to be read."""


class TorchThreads:
    """Chooses the number of threads for the passes of one model.

    Args:
        model: A language model of transformers or peft.
    """

    def __init__(self, model: Any) -> None:
        weights = [one.numel() for one in model.parameters() if one.dim() > 1]
        self._size = sum(weights) // max(1, len(weights))
        self._hidden = getattr(model.config.get_text_config(), "hidden_size", 0)

    @contextmanager
    def limited(self, tokens: int, width: int) -> Iterator[None]:
        """Use one thread inside if the pass is small, and torch's own number if not.

        Only shapes decide, so the same pass is computed in the same way in every run.

        Args:
            tokens: Tokens of the pass, padding included.
            width: The most tokens that one of them attends to.
        """
        import torch  # noqa: PLC0415 - optional: only a caller with a model needs it

        threads = torch.get_num_threads()
        work = max(tokens, _FEW) * max(self._size, width * self._hidden)
        if threads == 1 or work >= _SMALL:
            yield
            return
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(threads)

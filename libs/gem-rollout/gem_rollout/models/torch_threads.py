"""How many of torch's threads a pass of a model takes on the CPU: one if it is small.

An operation that several threads share begins by waking them, and ends when the last one is done.
A pass has hundreds; where one thread has done an operation by then, more of them are slower.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["TorchThreads"]

_SMALL = 2**23
"""Multiplications of an operation that one thread has done before others are of use."""

_FEW = 16
"""Tokens that take as long as one, since the weights have to be read."""


class TorchThreads:
    """The threads of a model's passes.

    Args:
        model: A language model of transformers, or of peft.
    """

    def __init__(self, model: Any) -> None:
        weights = [one.numel() for one in model.parameters() if one.dim() > 1]
        self._size = sum(weights) // max(1, len(weights))
        self._hidden = getattr(model.config.get_text_config(), "hidden_size", 0)

    @contextmanager
    def of(self, tokens: int, width: int) -> Iterator[None]:
        """Take one thread inside if a pass is small, and as many as torch has if not.

        Shapes alone decide: the same pass is computed alike in every run.

        Args:
            tokens: Tokens of the pass, with padding.
            width: How many tokens each of them attends to at most.
        """
        import torch  # noqa: PLC0415 - only who has a model has it

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

"""Counts the memory of tensors, also of those that exist only as shapes.

With ``FakeTensorMode``, the peak of a training step of a large model is found in seconds on a
machine that could never run it.
"""

import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

__all__ = ["Allocations"]


class Allocations(TorchDispatchMode):  # type: ignore[misc] # torch is not read by mypy
    """Counts the bytes of the tensors that operations make inside, for as long as they live.

    What an operation allocates for itself and frees before it returns is not seen.

    Attributes:
        peak: Most bytes at the same time.
    """

    def __init__(self) -> None:
        super().__init__()
        self.peak = 0
        self._now = 0
        self._sizes: dict[int, int] = {}
        self._freed: deque[int] = deque()

    @property
    def now(self) -> int:
        """Bytes of the tensors that are alive."""
        while self._freed:
            self._now -= self._sizes.pop(self._freed.popleft(), 0)
        return self._now

    def __torch_dispatch__(
        self,
        function: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run an operation, and count the memory of its new tensors."""
        given = {_key(one) for one in _tensors((args, kwargs))}
        result = function(*args, **(kwargs or {}))
        for one in _tensors(result):
            if _key(one) not in given:
                self._count(one.untyped_storage())
        return result

    def _count(self, storage: Any) -> None:
        key, now = storage._cdata, self.now  # noqa: SLF001 - there is no public identity of a storage
        if key in self._sizes:
            return
        self._sizes[key] = storage.nbytes()
        self._now = now + storage.nbytes()
        self.peak = max(self.peak, self._now)
        # The collector may run in the middle of these lines, so the end is only noted.
        weakref.finalize(storage, self._freed.append, key).atexit = False


def _tensors(tree: Any) -> list[torch.Tensor]:
    return [one for one in tree_leaves(tree) if isinstance(one, torch.Tensor)]


def _key(tensor: torch.Tensor) -> int:
    key: int = tensor.untyped_storage()._cdata  # noqa: SLF001 - as above
    return key

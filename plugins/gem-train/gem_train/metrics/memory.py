"""The memory that a run has needed."""

import resource
import sys
from typing import Any

__all__ = ["peak_memory"]


def peak_memory(device: Any) -> int:
    """Return the most bytes that this process has had at the same time.

    Args:
        device: A ``torch.device``: for one of CUDA, the memory of tensors on it is returned
            (``torch.cuda.max_memory_allocated``), for others the process's resident memory.
    """
    if device.type == "cuda":
        import torch  # noqa: PLC0415 - the other metrics do not need it

        return int(torch.cuda.max_memory_allocated(device))
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit

"""Tells whether an error of torch is a lack of memory."""

__all__ = ["is_out_of_memory"]

_TEXTS = ("out of memory", "can't allocate memory", "cublas_status_alloc_failed")


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error is a lack of memory, of the GPU or of the CPU.

    ``torch.OutOfMemoryError`` is a ``RuntimeError``, and the CPU's allocator raises a bare one.

    Args:
        error: An error that was raised by torch, or by Python.
    """
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    text = str(error).lower()
    return isinstance(error, RuntimeError) and any(one in text for one in _TEXTS)

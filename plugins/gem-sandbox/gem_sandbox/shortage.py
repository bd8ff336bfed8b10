"""Shortages of the host, which say nothing about the sandboxes that work on it."""

import errno

__all__ = ["shortage"]

_SHORTAGES = {
    errno.EMFILE: "there are too many open files for the limit of this process (ulimit -n)",
    errno.ENFILE: "the machine has too many open files",
    errno.ENOMEM: "the machine has too little memory",
    errno.EAGAIN: "there are too many processes for the limit of this user (ulimit -u)",
    errno.ENOSPC: "there is no space left for temporary files",
}


def shortage(error: BaseException | None) -> str:
    """Return the shortage of the host that caused an error; empty if it has another cause."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _SHORTAGES:
            return f"{_SHORTAGES[error.errno]}: {error}"
        error = error.__cause__ or error.__context__
    return ""

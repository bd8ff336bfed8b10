"""Ctrl-C and SIGTERM: a run ends between two steps, because half an update cannot be resumed."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Self

__all__ = ["DeferredInterrupt", "sigterm_as_sigint"]


class DeferredInterrupt:
    """Defers Ctrl-C to the end of a block; a second Ctrl-C is not deferred."""

    def __enter__(self) -> Self:
        self._interrupted = False
        self._is_active = _handles_signals()
        if self._is_active:
            self._before = signal.signal(signal.SIGINT, self._on_signal)
        return self

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self._interrupted:
            raise KeyboardInterrupt
        self._interrupted = True

    @contextmanager
    def lifted(self) -> Iterator[None]:
        """Stop deferring inside; a Ctrl-C that was deferred is raised immediately."""
        if self._is_active:
            signal.signal(signal.SIGINT, self._before)
        try:
            if self._interrupted:
                raise KeyboardInterrupt
            yield
        finally:
            self._interrupted = False
            if self._is_active:
                signal.signal(signal.SIGINT, self._on_signal)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._is_active:
            signal.signal(signal.SIGINT, self._before)
        if self._interrupted and error is None:
            raise KeyboardInterrupt


@contextmanager
def sigterm_as_sigint() -> Iterator[None]:
    """Treat SIGTERM, which schedulers send to end a job, as Ctrl-C."""
    if not _handles_signals():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _handles_signals() -> bool:
    return threading.current_thread() is threading.main_thread()

"""Runs environments one after another in the caller's thread: the fastest for cheap steps."""

from collections.abc import Sequence

from gem_core.vector.executor import QueueExecutor, Request

__all__ = ["SerialExecutor"]


class SerialExecutor(QueueExecutor):
    """One after another in the caller's thread; asynchronous environments run at once."""

    def submit(self, method: str, requests: Sequence[Request]) -> None:
        """Call the method of each requested slot."""
        for index, args in requests:
            self._perform(index, method, args)

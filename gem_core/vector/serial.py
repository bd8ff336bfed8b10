"""Runs environments one after another in the caller's thread: the fastest for cheap steps."""

from collections.abc import Iterable
from typing import Any

from gem_core.env import Step
from gem_core.maybe_async import is_awaitable
from gem_core.vector.executor import QueueExecutor, Request
from gem_core.vector.slot import perform

__all__ = ["SerialExecutor"]


class SerialExecutor(QueueExecutor):
    """Runs environments in the caller's thread; asynchronous ones run concurrently."""

    def run(self, method: str, requests: Iterable[Request]) -> list[Any]:
        """Call a method of each requested slot and return the results in order."""
        slots = self._slots
        values = [perform(slots[index], method, argument) for index, argument in requests]
        waiting = 0
        for position, value in enumerate(values):
            if type(value) is not Step and is_awaitable(value):
                self._put_later(position, value)
                waiting += 1
        for position, value in self.collect(waiting):
            values[position] = value
        return values

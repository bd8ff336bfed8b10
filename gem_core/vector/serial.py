"""Runs environments one after another in the caller's thread: the fastest for cheap steps."""

from collections.abc import Iterable
from typing import Any

from gem_core.env import Step
from gem_core.maybe_async import is_awaitable
from gem_core.vector.executor import QueueExecutor, Request
from gem_core.vector.slot import FAULTS, Fault

__all__ = ["SerialExecutor"]


class SerialExecutor(QueueExecutor):
    """Runs environments in the caller's thread; asynchronous ones run concurrently."""

    def run(self, method: str, requests: Iterable[Request]) -> list[Any]:
        """Call a method of each requested slot and return the results in order."""
        slots = self._slots
        values: list[Any] = []
        for index, argument in requests:
            try:
                values.append(getattr(slots[index], method)(argument))
            except FAULTS as error:
                values.append(Fault(error))
        if set(map(type, values)) == {Step}:
            return values
        waiting = [position for position, value in enumerate(values) if is_awaitable(value)]
        for position in waiting:
            self._put_later(position, values[position])
        for position, value in self.collect(len(waiting)):
            values[position] = value
        return values

"""Runs environments one after another in the caller's thread: the fastest for cheap steps."""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from gem_core.env import Step
from gem_core.maybe_async import is_awaitable
from gem_core.vector.executor import QueueExecutor, Request
from gem_core.vector.slot import Fault

__all__ = ["SerialExecutor"]

CHUNK = 64
"""Steps that are handed on together: keeping hundreds would wake the garbage collector."""


class SerialExecutor(QueueExecutor):
    """One after another in the caller's thread; asynchronous environments run at once."""

    def run(self, method: str, requests: Iterable[Request]) -> Iterator[list[Any]]:
        """Call a method of each requested slot; yield what they returned, in order, in parts."""
        calls = [getattr(slot, method) for slot in self._slots]
        remaining = iter(requests)
        values: list[Any] = []
        while chunk := self._call(calls, itertools.islice(remaining, CHUNK)):
            values += chunk
            if set(map(type, values)) == {Step}:
                yield values
                values = []
        self._await(values)
        yield values

    @staticmethod
    def _call(calls: list[Any], requests: Iterator[Request]) -> list[Any]:
        values: list[Any] = []
        while True:
            try:
                for index, args in requests:
                    values.append(calls[index](*args))  # noqa: PERF401 - keeps what came before
            except Exception as error:  # noqa: BLE001 - it is raised again where it was asked for
                values.append(Fault(error))
            else:
                return values

    def _await(self, values: list[Any]) -> None:
        later = [position for position, value in enumerate(values) if is_awaitable(value)]
        for position in later:
            self._put_later(position, values[position])
        for position, value in self.collect(len(later)):
            values[position] = value

    def submit(self, method: str, requests: Iterable[Request]) -> None:
        """Call the method of each requested slot."""
        for index, args in requests:
            self._perform(index, method, args)

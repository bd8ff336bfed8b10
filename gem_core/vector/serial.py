"""Runs environments one after another in the caller's thread: the fastest for cheap steps."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from gem_core.env import Step
from gem_core.maybe_async import is_awaitable
from gem_core.vector.executor import QueueExecutor, Request
from gem_core.vector.slot import FAULTS, Fault

__all__ = ["SerialExecutor"]

CHUNK = 64
"""Steps that are handed on together: keeping hundreds would wake the garbage collector."""


class SerialExecutor(QueueExecutor):
    """One after another in the caller's thread; asynchronous environments run at once."""

    def __init__(self) -> None:
        super().__init__()
        self._calls: dict[str, list[Callable[[Any], Any]]] = {}

    def run(self, method: str, requests: Iterable[Request]) -> Iterator[list[Any]]:
        """Call a method of each requested slot; yield what they returned, in order, in parts."""
        remaining = iter(requests)
        values: list[Any] = []
        while chunk := self._call(method, itertools.islice(remaining, CHUNK)):
            values += chunk
            if set(map(type, values)) == {Step}:
                yield values
                values = []
        self._await(values)
        yield values

    def _call(self, method: str, requests: Iterator[Request]) -> list[Any]:
        calls = self._calls[method] if method in self._calls else self._bind(method)
        values: list[Any] = []
        while True:
            try:
                for index, argument in requests:
                    values.append(calls[index](argument))
            except FAULTS as error:
                values.append(Fault(error))  # what came before it stays, and the rest goes on
            else:
                return values

    def _bind(self, method: str) -> list[Callable[[Any], Any]]:
        calls = self._calls[method] = [getattr(slot, method) for slot in self._slots.values()]
        return calls

    def _await(self, values: list[Any]) -> None:
        later = [position for position, value in enumerate(values) if is_awaitable(value)]
        for position in later:
            self._put_later(position, values[position])
        for position, value in self.collect(len(later)):
            values[position] = value

"""A program and its inputs as work that several supervisors can share: what to ask, in which order.

Nothing here waits or sends: an ``engine.Conversation`` does, in a thread or an event loop.
"""

import marshal
import math
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from gem_core.errors import ConfigError
from gem_core.sandbox import Execution, Program
from gem_sandbox.base import check_limits
from gem_sandbox.warm.answers import GRACE, KILLED, executions_of
from gem_sandbox.warm.engine import Ask, Steps
from gem_sandbox.warm.inside.messages import END, ENDED, NEXT, RUN, TESTS
from gem_workers.frames import NOT_BEGUN, pack

__all__ = ["NO_DEADLINE", "Stop", "Work", "limits_of", "run_once"]

NO_DEADLINE = 1_000_000
_ATTEMPTS = 2
_MOST_AT_ONCE = 16
"""Runs that a supervisor is asked for at once."""
_SECONDS_AT_ONCE = 0.1
"""How long they are to take, so that others can take over what is left."""
_WORTH_A_HELPER = 0.02
"""Seconds of runs for which another supervisor is asked, which takes 4 ms to begin."""
_LEAST_FILES = 1 << 24

Stop = Callable[[int, Execution], bool]


class Work:
    """The runs of a program, one for each input.

    Args:
        program: The program.
        inputs: What each run reads.
        stop: Asked about each run, in order, whether it was the last that is wanted.
    """

    def __init__(self, program: Program, inputs: Sequence[str], stop: Stop | None) -> None:
        self._request = _request(program)
        self._timeout = program.timeout
        self._inputs = [text.encode(errors="replace") for text in inputs]
        self._stop = stop
        self._lock, self._settling = threading.Lock(), threading.Lock()
        self._left = deque(range(len(inputs)))
        self._conversations = 0
        self._seconds = 0.0
        """Of a run, last."""
        self._found: dict[int, Execution] = {}
        self._executions: list[Execution] = []
        self._error: BaseException | None = None
        self.is_over = False
        """Whether no further run is wanted."""

    @property
    def is_done(self) -> bool:
        """Whether nothing is missing that is wanted."""
        return self.is_over or len(self._executions) == len(self._inputs)

    def executions(self) -> list[Execution]:
        """Return what became of the runs, once that is all there; raise what ``stop`` raised."""
        if self._error is not None:
            raise self._error
        return self._executions

    @property
    def helpers_wanted(self) -> int:
        """How many more supervisors would find enough to do."""
        left = len(self._left)
        return min(left, int(left * self._seconds / _WORTH_A_HELPER)) - self._conversations + 1

    def end(self) -> None:
        """Have no further run begin."""
        with self._lock:
            self.is_over = True
            self._left.clear()

    def steps(self, *, goes_on: Callable[[], bool] = lambda: True) -> Steps[None]:
        """Yield what to ask one supervisor and be sent its answers, until nothing is left.

        Args:
            goes_on: Asked before more is taken than has been.
        """
        with self._lock:
            self._conversations += 1
        return self._steps(goes_on)

    def _steps(self, goes_on: Callable[[], bool]) -> Steps[None]:
        kind = TESTS if len(self._inputs) > 1 else RUN
        questions = _Questions(kind, self._request, self._timeout)
        most = 1
        try:
            while goes_on() and (taken := self._take(most)):
                rest = taken
                try:
                    batch = [self._inputs[index] for index in taken]
                    found = yield from questions.run(batch, len(self._left), self._is_wanted)
                    rest = taken[len(found) :]
                finally:
                    self._give_back(rest)
                if not found:
                    break
                self._settle(dict(zip(taken, found, strict=False)))
                self._seconds = max(sum(each.duration for each in found) / len(found), 1e-6)
                most = min(4 * most, _MOST_AT_ONCE, int(_SECONDS_AT_ONCE / self._seconds) or 1)
            yield from questions.end()
        finally:
            with self._lock:
                self._conversations -= 1

    def _is_wanted(self) -> bool:
        return not self.is_over

    def _take(self, most: int) -> list[int]:
        """Take the first inputs that are left: a fair share of them, but no more than ``most``."""
        with self._lock:
            share = -(-len(self._left) // self._conversations)
            return [self._left.popleft() for _ in range(min(most, share))]

    def _give_back(self, taken: Sequence[int]) -> None:
        with self._lock:
            if not self.is_over:
                self._left.extendleft(reversed(taken))

    def _settle(self, found: Mapping[int, Execution]) -> None:
        """Put what was found in order, and ask whether more is wanted."""
        with self._settling:
            self._found.update(found)
            executions = self._executions
            while not self.is_over and len(executions) in self._found:
                executions.append(self._found.pop(len(executions)))
                if self._stop is not None and self._is_last(self._stop):
                    self.end()

    def _is_last(self, stop: Stop) -> bool:
        try:
            return stop(len(self._executions) - 1, self._executions[-1])
        except BaseException as error:  # noqa: BLE001 - for the caller, whose thread this need not be
            self._error = error
            return True


class _Questions:
    """What one supervisor is asked about a program, in one conversation."""

    def __init__(self, kind: bytes, request: dict[str, Any], timeout: float) -> None:
        self._kind = kind
        self._request = request
        self._timeout = timeout
        self._expected = 0
        """Runs that the supervisor is ready for."""

    def run(
        self, batch: list[bytes], more: int = 0, is_wanted: Callable[[], bool] = lambda: True
    ) -> Steps[list[Execution]]:
        """Return what became of the first run of a batch, or of several.

        Args:
            batch: Inputs.
            more: How many may follow.
            is_wanted: Asked before each attempt; nothing is returned if it never is.
        """
        attempts = _ATTEMPTS
        while attempts and is_wanted():
            if self._expected:
                batch = batch[: self._expected]
                said = pack(NEXT, marshal.dumps(batch))
            else:
                self._expected = len(batch) + more
                first = {**self._request, "inputs": batch, "tests": self._expected}
                said = pack(self._kind, marshal.dumps(first))
            frame = yield Ask(said, len(batch) * self._timeout + GRACE)
            found = executions_of(frame, self._timeout)[: len(batch)]
            self._expected = self._expected - len(found) if frame.kind == ENDED else 0
            if found:
                return found
            attempts -= frame.kind != NOT_BEGUN  # of the program: it has never run
        return [KILLED] if is_wanted() else []

    def end(self) -> Steps[None]:
        """Tell the supervisor that no more runs follow, if it does not know."""
        if self._expected:
            yield Ask(pack(END), GRACE)


def run_once(program: Program) -> Steps[Execution]:
    """Yield what to ask to run a program, be sent the answers, and return what became of it."""
    questions = _Questions(RUN, _request(program), program.timeout)
    found = yield from questions.run([program.stdin.encode(errors="replace")])
    return found[0]


def _request(program: Program) -> dict[str, Any]:
    """Return a program as a run takes it."""
    if program.language != "python":
        raise ConfigError(f"The warm sandbox runs python; got language={program.language!r}.")
    return {
        "source": program.source.encode(errors="surrogatepass"),
        "arguments": [str(argument) for argument in program.arguments],
        "files": {_relative(name): bytes(body) for name, body in program.files.items()},
        "supply_names": program.supply_names,
        **limits_of(program),
    }


def limits_of(program: Program) -> dict[str, Any]:
    """Return a program's limits as a supervisor takes them.

    Raises:
        ConfigError: One cannot be kept.
    """
    check_limits(program)
    cpu_time = program.timeout if program.cpu_time is None else program.cpu_time
    return {
        "timeout": float(min(program.timeout, NO_DEADLINE)),
        "cpu_time": max(1, math.ceil(min(cpu_time, NO_DEADLINE))),
        "memory": int(program.memory),
        "output_limit": int(program.output_limit),
        "processes": int(program.processes),
        "file_size": int(program.file_size),
        "disk": max(int(program.file_size), _LEAST_FILES),
    }


def _relative(name: str) -> str:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.name or "\0" in name:
        raise ConfigError(f"A file of a program needs a relative path without '..'; got {name!r}.")
    return str(path)

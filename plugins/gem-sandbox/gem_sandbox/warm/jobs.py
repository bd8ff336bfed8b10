"""A job: the runs of one program for its inputs, which several supervisors can share.

Nothing here waits or sends: a ``zygote_pool.WorkerExchange`` does, in a thread or an event loop.
"""

import marshal
import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from gem_core.errors import ConfigError
from gem_core.lifetimes import Lock
from gem_sandbox.warm.guest.messages import END, ENDED, NEXT, RUN, TESTS
from gem_sandbox.warm.results import GRACE, KILLED, executions_of
from gem_sandbox.warm.zygote_pool import Steps, WorkerRequest
from gem_workers.frames import NOT_BEGUN, pack
from gem_workers.sandbox import Execution, Program

__all__ = ["NO_DEADLINE", "Job", "Stop", "limits_of", "run_once"]

NO_DEADLINE = 1_000_000
"""Seconds of a limit of time that is never met."""
_ATTEMPTS = 2
_MAX_BATCH = 16
"""The number of runs in one request."""
_BATCH_SECONDS = 0.1
"""The duration of one request: short, so that others can take over what is left."""
_WORKER_SECONDS = 0.02
"""Seconds of runs that are worth another supervisor, which takes 4 ms to start."""
_MIN_DISK = 1 << 24

Stop = Callable[[int, Execution], bool]


class Job:
    """The runs of a program, one for each input.

    Args:
        program: The program.
        inputs: The standard input of each run.
        stop: Called with each result, in order; returns True if no other run is wanted.
    """

    def __init__(self, program: Program, inputs: Sequence[str], stop: Stop | None) -> None:
        self._request = _request(program)
        self._timeout = program.timeout
        self._inputs = [text.encode(errors="replace") for text in inputs]
        self._stop = stop
        self._lock, self._reporting = Lock(), Lock()
        self._left = deque(range(len(inputs)))
        self._workers = 0
        self._seconds = 0.0
        """The duration of one run, measured last."""
        self._unordered: dict[int, Execution] = {}
        self._executions: list[Execution] = []
        self._error: BaseException | None = None
        self.is_over = False
        """Whether no other run is wanted."""

    @property
    def is_done(self) -> bool:
        """Whether all wanted results are there."""
        return self.is_over or len(self._executions) == len(self._inputs)

    def executions(self) -> list[Execution]:
        """Return the results once the job is done; raise the exception of ``stop``, if any."""
        if self._error is not None:
            raise self._error
        return self._executions

    @property
    def workers_wanted(self) -> int:
        """The number of further supervisors that would have enough to do."""
        left = len(self._left)
        return min(left, int(left * self._seconds / _WORKER_SECONDS)) - self._workers + 1

    def end(self) -> None:
        """Start no further run."""
        with self._lock:
            self.is_over = True
            self._left.clear()

    def steps(self, *, may_continue: Callable[[], bool] = lambda: True) -> Steps[None]:
        """Return the steps of one supervisor: it takes inputs until none is left.

        Args:
            may_continue: Called before each batch of inputs is taken.
        """
        with self._lock:
            self._workers += 1
        return self._steps(may_continue)

    def _steps(self, may_continue: Callable[[], bool]) -> Steps[None]:
        kind = TESTS if len(self._inputs) > 1 else RUN
        requests = _Requests(kind, self._request, self._timeout)
        size = 1
        try:
            while may_continue() and (taken := self._take(size)):
                rest = taken
                try:
                    batch = [self._inputs[index] for index in taken]
                    results = yield from requests.run(batch, len(self._left), self._is_wanted)
                    rest = taken[len(results) :]
                finally:
                    self._put_back(rest)
                if not results:
                    break
                self._report(dict(zip(taken, results, strict=False)))
                self._seconds = max(sum(each.duration for each in results) / len(results), 1e-6)
                size = min(4 * size, _MAX_BATCH, int(_BATCH_SECONDS / self._seconds) or 1)
            yield from requests.end()
        finally:
            with self._lock:
                self._workers -= 1

    def _is_wanted(self) -> bool:
        return not self.is_over

    def _take(self, size: int) -> list[int]:
        """Take the first inputs that are left: a fair share of them, but at most ``size``."""
        with self._lock:
            share = -(-len(self._left) // self._workers)
            return [self._left.popleft() for _ in range(min(size, share))]

    def _put_back(self, taken: Sequence[int]) -> None:
        with self._lock:
            if not self.is_over:
                self._left.extendleft(reversed(taken))

    def _report(self, results: Mapping[int, Execution]) -> None:
        """Append results to the list in order, and ask ``stop`` about each."""
        with self._reporting:
            self._unordered.update(results)
            executions = self._executions
            while not self.is_over and len(executions) in self._unordered:
                executions.append(self._unordered.pop(len(executions)))
                if self._stop is not None and self._is_last(self._stop):
                    self.end()

    def _is_last(self, stop: Stop) -> bool:
        try:
            return stop(len(self._executions) - 1, self._executions[-1])
        except BaseException as error:  # noqa: BLE001 - raised in the caller's thread, later
            self._error = error
            return True


class _Requests:
    """The requests to one supervisor about one program, in one exchange."""

    def __init__(self, kind: bytes, request: dict[str, Any], timeout: float) -> None:
        self._kind = kind
        self._request = request
        self._timeout = timeout
        self._expected = 0
        """The number of runs that the supervisor is prepared for."""

    def run(
        self, batch: list[bytes], more: int = 0, is_wanted: Callable[[], bool] = lambda: True
    ) -> Steps[list[Execution]]:
        """Return the results of the first run of a batch, or of several.

        Args:
            batch: Inputs.
            more: The number of inputs that may follow.
            is_wanted: Called before each attempt; if it returns False, the result is empty.
        """
        attempts = _ATTEMPTS
        while attempts and is_wanted():
            if self._expected:
                batch = batch[: self._expected]
                message = pack(NEXT, marshal.dumps(batch))
            else:
                self._expected = len(batch) + more
                first = {**self._request, "inputs": batch, "tests": self._expected}
                message = pack(self._kind, marshal.dumps(first))
            frame = yield WorkerRequest(message, len(batch) * self._timeout + GRACE)
            results = executions_of(frame, self._timeout)[: len(batch)]
            self._expected = self._expected - len(results) if frame.kind == ENDED else 0
            if results:
                return results
            attempts -= frame.kind != NOT_BEGUN  # not an attempt if the program never ran
        return [KILLED] if is_wanted() else []

    def end(self) -> Steps[None]:
        """Announce that no more runs follow, if the supervisor expects some."""
        if self._expected:
            yield WorkerRequest(pack(END), GRACE)


def run_once(program: Program) -> Steps[Execution]:
    """Return the steps that run a program once; their result is its execution."""
    requests = _Requests(RUN, _request(program), program.timeout)
    results = yield from requests.run([program.stdin.encode(errors="replace")])
    return results[0]


def _request(program: Program) -> dict[str, Any]:
    """Return a program in the form that supervisors take.

    Raises:
        ConfigError: The program is not in Python.
    """
    if program.language != "python":
        raise ConfigError(f"The warm sandbox runs python; got language={program.language!r}.")
    return {
        "source": program.source.encode(errors="surrogatepass"),
        "arguments": [str(argument) for argument in program.arguments],
        "files": {str(PurePosixPath(name)): bytes(body) for name, body in program.files.items()},
        "supply_names": program.supply_names,
        **limits_of(program),
    }


def limits_of(program: Program) -> dict[str, Any]:
    """Return a program's limits in the form that supervisors take."""
    cpu_time = program.timeout + 1 if program.cpu_time is None else program.cpu_time
    return {
        "timeout": float(min(program.timeout, NO_DEADLINE)),
        "cpu_time": max(1, math.ceil(min(cpu_time, NO_DEADLINE))),
        "memory": int(program.memory),
        "output_limit": int(program.output_limit),
        "processes": int(program.processes),
        "file_size": int(program.file_size),
        "disk": max(int(program.file_size), _MIN_DISK),
    }

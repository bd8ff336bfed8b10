"""Runs a test program in one session of a sandbox, and the solution in another one.

The host passes each request of the test program to the solution, and the answer back. Both are
plain data in JSON. The result comes from the session of the test program, which the solution
cannot reach: it can only answer.
"""

import contextlib
import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gem_code.guest import GEM_MARK
from gem_code.programs import TestProgram
from gem_code.sources import served_solution, started_tests
from gem_workers.sandbox import Sandbox, SandboxSession, open_session

__all__ = ["Limits", "run_program"]

_LEAST_SECONDS = 1e-4
"""The duration that is counted for each piece at least."""


@dataclass(frozen=True)
class Limits:
    """The resources of one test.

    Args:
        timeout: Wall time in seconds.
        total: Seconds of CPU time of all tests of an answer together, or of wall time where the
            sandbox does not measure it; no test starts after it.
        memory: Memory in bytes.
        supply_names: Whether common names are provided that the program does not import.
    """

    timeout: float = 10.0
    memory: int = 1 << 30
    total: float = 60.0
    supply_names: bool = True


class _FailedError(Exception):
    """A test has failed; the message is the kind of the failure."""


def run_program(
    code: str, program: TestProgram, *, sandbox: Sandbox, limits: Limits
) -> tuple[str | None, float]:
    """Run a test program beside a solution.

    Args:
        code: The solution.
        program: The test program.
        sandbox: The sandbox, which must have sessions.
        limits: The resources of each of both; the wall time is that of both together.

    Returns:
        The kind of its failure, or None; and the seconds of wall time that it took.

    Raises:
        SandboxError: The sandbox has no sessions, or failed itself.
    """
    with _sessions(sandbox, limits) as (solution, tests):
        clock = _Clock(limits.timeout)
        try:
            kind = _relayed(code, program, solution, tests, limits, clock)
        except _FailedError as failure:
            kind = str(failure)
        return kind, clock.spent


@contextlib.contextmanager
def _sessions(sandbox: Sandbox, limits: Limits) -> Iterator[tuple[SandboxSession, SandboxSession]]:
    with contextlib.ExitStack() as stack:
        first, second = (
            stack.enter_context(
                contextlib.closing(
                    open_session(sandbox, timeout=limits.timeout, memory=limits.memory)
                )
            )
            for _ in range(2)
        )
        yield first, second


def _relayed(
    code: str,
    program: TestProgram,
    solution: SandboxSession,
    tests: SandboxSession,
    limits: Limits,
    clock: "_Clock",
) -> str | None:
    secret = f"\x1e{secrets.token_hex(16)} "
    served = served_solution(code, program.names, supply_names=limits.supply_names)
    found, _ = clock.run(solution, served, GEM_MARK)
    message, _ = clock.run(tests, started_tests(program, found, secret), secret)
    while "ask" in message:
        request = json.dumps(message["ask"])
        answer, printed = clock.run(solution, f"gem_answer({request!r})", GEM_MARK)
        piece = f"gem_go_on({json.dumps(answer)!r}, {printed!r})"
        message, _ = clock.run(tests, piece, secret)
    if "passed" in message:
        return None if message["passed"] is True else "no assertion"
    if message.get("unsupported"):
        return f"not supported: {message['unsupported']}"
    return "wrong output" if message.get("failed") is True else "error"


class _Clock:
    """Runs pieces until their time is over.

    Args:
        seconds: The wall time of all pieces.
    """

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self.spent = 0.0
        """Seconds of wall time that pieces have taken."""

    def run(self, session: SandboxSession, piece: str, mark: str) -> tuple[Any, str]:
        """Run a piece; return its message, which follows the last mark, and its output."""
        execution = session.run(piece, timeout=self._left)
        seconds = max(execution.duration, _LEAST_SECONDS)
        self._left -= seconds
        self.spent += seconds
        if not execution.ok:
            raise _FailedError(execution.limit or "error")
        if self._left <= 0:
            raise _FailedError("wall_time")
        printed, found, message = execution.stdout.rpartition(f"\n{mark}")
        try:
            read = json.loads(message.partition("\n")[0])
        except (ValueError, RecursionError):
            read = None
        if not found or not isinstance(read, dict):
            raise _FailedError("no value")
        return read, printed

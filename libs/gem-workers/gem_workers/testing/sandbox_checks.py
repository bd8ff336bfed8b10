"""The contract of sandboxes: ``check_sandbox`` and its checks."""

import asyncio
import functools
import os
import socket
import tempfile
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from gem_core.errors import GemError, SandboxError
from gem_core.plugins import default_registry
from gem_core.testing.report import CheckFailedError, Finding, Report, require, run_checks
from gem_workers.sandbox import SANDBOXES, Execution, Limit, Program, Sandbox, SessionSandbox
from gem_workers.testing.session_checks import SESSION_CHECKS, raises

__all__ = [
    "SANDBOX_CHECKS",
    "NotCheckedError",
    "SandboxBench",
    "check_registered_sandbox",
    "check_sandbox",
]

_CANARY = "a-secret-of-the-host"
_CANARY_VARIABLE = "GEM_SANDBOX_CHECK"

_ORDINARY = {
    "__main__ __main__": "import sys; print(__name__, sys.modules['__main__'].__name__)",
    "thread": """
import threading
threading.Thread(target=lambda: (__import__("time").sleep(0.05), print("thread"))).start()
""",
    "at exit": "import atexit; atexit.register(print, 'at exit')",
    "sub": """
import subprocess, sys
print(subprocess.check_output([sys.executable, "-c", "print('sub')"]).decode(), end="")
""",
    "deep": """
def f(n): return n and 1 + f(n - 1)
try: f(10 ** 5)
except RecursionError: print("deep")
""",
    "A": """
import pickle
class A: pass
print(type(pickle.loads(pickle.dumps(A()))).__name__)
""",
    "child\nparent": """
import os
pid = os.fork()
if pid: os.wait()
print("parent" if pid else "child")
""",
    "kept": "open('file', 'w').write('kept'); print(open('file').read())",
    "3": "import tempfile; print(tempfile.TemporaryFile().write(b'abc'))",
}
"""Expected output, and the program that prints it."""


class NotCheckedError(GemError):
    """A check does not apply to a sandbox; its name and this message go to ``unchecked``."""


class SandboxBench:
    """A sandbox for one check, and what the checks have in common.

    Args:
        make: Makes the sandbox.
    """

    def __init__(self, make: Callable[[], Sandbox]) -> None:
        self.make = make
        self.sandbox = make()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.sandbox.close()

    def run(self, source: str, **fields: Any) -> Execution:
        """Run a program, which may fail."""
        execution = self.sandbox.run(Program(source, **fields))
        require(isinstance(execution, Execution), f"run returned a {type(execution).__name__}")
        return execution

    def output(self, source: str, **fields: Any) -> str:
        """Run a program that must succeed; return its output."""
        execution = self.run(source, **fields)
        require(execution.ok, f"{source!r} failed: {execution}")
        return execution.stdout

    def ends_by(self, limit: Limit, source: str, **fields: Any) -> Execution:
        """Run a program that must be ended by a limit."""
        execution = self.run(source, **fields)
        require(not execution.ok, f"{source!r} succeeded in spite of the limit {limit}")
        require(execution.exit_status != 0, f"exit_status is 0 though {limit} ended {source!r}")
        require(
            execution.limit == limit, f"limit is {execution.limit!r}, not {limit!r}: {source!r}"
        )
        return execution


def check_sandbox(
    sandbox: str | Callable[[], Sandbox],
    *,
    checks: Iterable[str] | None = None,
    deadline: float = 60.0,
) -> Report:
    """Check a sandbox against the contract.

    Each check runs in its own thread, with a sandbox of its own. ``unchecked`` of the report lists
    the checks that do not apply: those of sessions to a sandbox without sessions, and
    ``isolation`` to one that does not isolate.

    Args:
        sandbox: The id of a sandbox, or a function that makes one.
        checks: Names from ``SANDBOX_CHECKS``; None for all.
        deadline: Seconds after which a check is a finding if it has not ended. Its sandbox is
            closed then, and its thread is abandoned.

    Raises:
        UnknownIdError: No sandbox has this id.
    """
    registry = default_registry()
    make = registry.find(SANDBOXES, sandbox).make if isinstance(sandbox, str) else sandbox
    subject = sandbox if isinstance(sandbox, str) else getattr(sandbox, "__name__", repr(sandbox))
    report = Report(subject)

    def timed(name: str, check: Callable[[SandboxBench], None]) -> Callable[[object], None]:
        def run(_: object) -> None:
            try:
                _run_within(deadline, check, make)
            except NotCheckedError as reason:
                report.unchecked.append(f"{name}: {reason}")

        return run

    timed_checks = {name: timed(name, check) for name, check in SANDBOX_CHECKS.items()}
    return run_checks(report, timed_checks, lambda: None, checks)


def check_registered_sandbox(sandbox_id: str, *, deadline: float = 60.0) -> Report:
    """Check a sandbox by its id; if it cannot run at all on this machine, it is unchecked.

    Args:
        sandbox_id: The id of a sandbox.
        deadline: Seconds for each check; see ``check_sandbox``.
    """
    make = default_registry().find(SANDBOXES, sandbox_id).make
    try:
        _run_within(deadline, _closing(lambda bench: bench.sandbox.run(Program(""))), make)
    except SandboxError as error:
        return Report(sandbox_id, unchecked=[f"it does not work here: {error}"])
    except CheckFailedError as error:
        return Report(sandbox_id, [Finding("construction", f"running an empty program {error}")])
    return check_sandbox(sandbox_id, deadline=deadline)


def _run_within(
    seconds: float, check: Callable[[SandboxBench], None], make: Callable[[], Sandbox]
) -> None:
    """Run a check in a thread; raise its exception, or ``CheckFailedError`` if it does not end."""
    ended: Future[None] = Future()
    made: list[Sandbox] = []

    def run() -> None:
        try:
            bench = SandboxBench(make)
            made.append(bench.sandbox)
            check(bench)
        except BaseException as error:  # noqa: BLE001 - raised in the caller's thread
            ended.set_exception(error)
        else:
            ended.set_result(None)

    threading.Thread(target=run, daemon=True).start()
    try:
        ended.result(seconds)
    except TimeoutError:
        if ended.done():  # the check's own
            raise
        for sandbox in made:
            threading.Thread(target=sandbox.close, daemon=True).start()
        raise CheckFailedError(f"did not end within {seconds:g} seconds") from None


def _construction(bench: SandboxBench) -> None:
    """It is a ``Sandbox``, can be closed twice, and then refuses to run."""
    sandbox = bench.make()
    require(isinstance(sandbox, Sandbox), f"{type(sandbox).__name__} lacks methods of the protocol")
    sandbox.run(Program("pass"))
    sandbox.close()
    sandbox.close()
    raises(SandboxError, lambda: sandbox.run(Program("pass")), "run on a closed sandbox")
    require(bench.output("print(1)") == "1\n", "closing one sandbox has ended another")


def _results(bench: SandboxBench) -> None:
    """Exit status, stdout and stderr are those of an interpreter; failures are not raised."""
    execution = bench.run("import sys; print('out'); print('err', file=sys.stderr)")
    require(
        execution == replace(execution, exit_status=0, stdout="out\n", stderr="err\n"),
        str(execution),
    )
    require(execution.limit is None and execution.duration > 0, f"no limit, but {execution}")
    for source, status, stderr in (
        ("import sys; sys.exit(3)", 3, ""),
        ("import sys; sys.exit()", 0, ""),
        ("import sys; sys.exit('a message')", 1, "a message\n"),
        ("import os; os._exit(7)", 7, ""),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 137, ""),
    ):
        execution = bench.run(source)
        found = execution.exit_status, execution.stderr, execution.limit
        require(found == (status, stderr, None), f"{source!r} returned {execution}")
    execution = bench.run("def f():\n    return 1 / 0\n\nf()\n")
    require(execution.exit_status == 1, f"an exception is status 1, not {execution.exit_status}")
    for part in ("Traceback (most recent call last):", "line 2, in f", "return 1 / 0"):
        require(part in execution.stderr, f"{part!r} is missing in {execution.stderr!r}")
    require(execution.stderr.endswith("ZeroDivisionError: division by zero\n"), execution.stderr)
    require("SyntaxError" in bench.run("def").stderr, "a syntax error is not reported")


def _input(bench: SandboxBench) -> None:
    """Standard input, arguments and files arrive; an empty standard input is at its end."""
    require(bench.output("print(input() + input())", stdin="a\nb\n") == "ab\n", "input() fails")
    echo = "import sys; sys.stdout.write(sys.stdin.read())"
    require(bench.output(echo) == "", "an empty stdin must be at its end")
    for text in ("é\n\U0001f9e9", "x" * 1_000_000, "no newline"):
        require(
            bench.output(echo, stdin=text) == text,
            f"{len(text)} characters of stdin arrived changed",
        )
    require(bench.output("print(len(open(0).read()))", stdin="abc") == "3\n", "open(0) fails")
    found = bench.output("import sys; print(sys.argv[1:])", arguments=["-a", "b c"])
    require(found == "['-a', 'b c']\n", f"arguments ['-a', 'b c'] arrived as {found}")
    files = {"data.bin": b"\x00\xff", "deep/inside.txt": b"text", "helper.py": b"VALUE = 5"}
    source = (
        "import helper\n"
        "print(open('data.bin', 'rb').read(), open('deep/inside.txt').read(), helper.VALUE)"
    )
    found = bench.output(source, files=files)
    require(found == "b'\\x00\\xff' text 5\n", f"files arrived as {found!r}")


def _output(bench: SandboxBench) -> None:
    """Output is always text, complete up to its limit; more output ends the program."""
    found = bench.output(r"import os; os.write(1, b'a\xffb')")
    require(found == "a�b", f"bytes that are not UTF-8 arrived as {found!r}")
    found = bench.output("print('é' * 100_000)")
    require(found == "é" * 100_000 + "\n", "200,000 bytes of output did not arrive completely")
    for stream in (1, 2):
        source = f"import os\nwhile True: os.write({stream}, b'x' * 10_000)"
        execution = bench.ends_by("output", source, output_limit=50_000)
        kept = execution.stdout if stream == 1 else execution.stderr
        require(kept == "x" * 50_000, f"{len(kept)} bytes were kept, not the first 50,000")
    found = bench.output("print('x' * 99)", output_limit=100)
    require(found == "x" * 99 + "\n", f"100 bytes of 100 allowed arrived as {found!r}")


def _interpreter(bench: SandboxBench) -> None:
    """Threads, subprocesses, deep recursion and so on work as in any interpreter."""
    for expected, source in _ORDINARY.items():
        found = bench.output(source)
        require(found == expected + "\n", f"{source!r} printed {found!r}")


def _limits(bench: SandboxBench) -> None:
    """Time, memory, processes and sizes of files are limited."""
    bench.ends_by("wall_time", "while True: pass", timeout=0.3)
    bench.ends_by("wall_time", "import time; time.sleep(100)", timeout=0.3)
    stubborn = (
        "import os, signal, time\n"
        "for n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\n"
        "print('begun', flush=True)\n"
        "if os.fork() == 0: os.setsid()\n"
        "while True:\n"
        "    try: time.sleep(100)\n"
        "    except BaseException: pass\n"
    )
    for seconds in (0.5, 5.0, 50.0):  # a busy machine needs more until it prints
        execution = bench.ends_by("wall_time", stubborn, timeout=seconds)
        if execution.stdout:
            break
    require(execution.stdout == "begun\n", "output from before the deadline is lost")
    bench.ends_by("cpu_time", "while True: pass", timeout=30.0, cpu_time=1.0)
    bench.ends_by("memory", "x = bytearray(10 ** 10)", memory=1 << 28)
    execution = bench.run("open('big', 'wb').write(b'x' * 10 ** 6)", file_size=10**5)
    require(not execution.ok, "a file became larger than file_size")
    forks = (
        "import os, time\n"
        "made = 0\n"
        "try:\n"
        "    for _ in range(40):\n"
        "        if os.fork() == 0:\n"
        "            time.sleep(100)\n"
        "        made += 1\n"
        "    time.sleep(100)\n"
        "except OSError: pass\n"
        "print(made)\n"
    )
    execution = bench.run(forks, processes=10, timeout=30.0)
    few = execution.limit == "processes" or (execution.ok and int(execution.stdout) < 10)
    require(few, f"40 processes, 10 allowed: {execution}")
    require(bench.output("print('well')") == "well\n", "a program fails after one that met a limit")


def _leftovers(bench: SandboxBench) -> None:
    """A program finds nothing of earlier ones: no files, modules or processes."""
    leave = (
        "import builtins, os, sys, tempfile, time\n"
        "open('left', 'w').close()\n"
        "os.environ['LEFT'] = '1'\n"
        "builtins.print = None\n"
        "sys.modules['left'] = sys\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0: time.sleep(100)\n"
        "    os._exit(0)\n"
        "os.wait()\n"
    )
    require(bench.run(leave).ok, "a program that forks cannot run")
    look = (
        "import os, sys\nprint(os.path.exists('left'), 'LEFT' in os.environ, 'left' in sys.modules)"
    )
    for _ in range(3):
        require(
            bench.output(look) == "False False False\n", "a program finds what an earlier one left"
        )


def _tests(bench: SandboxBench) -> None:
    """``run_tests`` has a new process for each input, in order, and stops when ``stop`` says so."""
    program = Program(
        "import builtins\n"
        "n = int(input())\n"
        "print(n * n, getattr(builtins, 'left', 'nothing'))\n"
        "builtins.left = n\n",
        stdin="not this",
    )
    executions = bench.sandbox.run_tests(program, [str(n) for n in range(5)])
    found = [execution.stdout for execution in executions]
    require(found == [f"{n * n} nothing\n" for n in range(5)], f"squares of 0 to 4: {found}")
    require(bench.sandbox.run_tests(program, []) == [], "without inputs there must be no runs")
    seen: list[int] = []

    def stop(index: int, execution: Execution) -> bool:
        seen.append(index)
        return not execution.ok

    inputs = ["1", "not a number", "2", "3"]
    executions = bench.sandbox.run_tests(program, inputs, stop=stop)
    require([e.ok for e in executions] == [True, False], f"it did not stop: {executions}")
    require(seen == [0, 1], f"stop was called with {seen}, not with 0 and 1")
    slow = replace(program, source="import time; time.sleep(float(input()))", timeout=2.0)
    limits = [execution.limit for execution in bench.sandbox.run_tests(slow, ["100", "0"])]
    require(
        limits == ["wall_time", None], f"a run that met its limit affects the next one: {limits}"
    )


def _asynchronous(bench: SandboxBench) -> None:
    """The asynchronous methods do the same, concurrently, without blocking the event loop."""

    async def everything() -> list[str]:
        runs = [bench.sandbox.arun(Program(f"print({n})")) for n in range(8)]
        ticks = asyncio.create_task(asyncio.sleep(0))
        outputs = [execution.stdout for execution in await asyncio.gather(*runs)]
        require(ticks.done(), "the event loop was blocked")
        tests = await bench.sandbox.arun_tests(Program("print(input())"), ["a", "b"])
        return [*outputs, *(execution.stdout for execution in tests)]

    bench.output("print(1)")  # a sandbox that hangs does so here, in a thread without successors
    found = "".join(asyncio.run(everything())).split()
    require(found == [*map(str, range(8)), "a", "b"], f"asynchronous runs printed {found}")


def _isolation(bench: SandboxBench) -> None:
    """If it says so, programs cannot reach the host's files, environment and network."""
    require(isinstance(bench.sandbox.isolated, bool), "isolated must be True or False")
    if not bench.sandbox.isolated:
        raise NotCheckedError("the sandbox does not isolate")
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as server:
        secret, target = Path(folder) / "secret", Path(folder) / "target"
        secret.write_text(_CANARY)
        Path(folder).chmod(0o777)
        address = server.getsockname()
        os.environ[_CANARY_VARIABLE] = _CANARY
        try:
            attempts = (
                f"print(open({str(secret)!r}).read())",
                f"open({str(target)!r}, 'w').write('out')\nprint({_CANARY!r})",
                f"import os; print(os.environ[{_CANARY_VARIABLE!r}])",
                f"import socket; socket.create_connection({address}); print({_CANARY!r})",
                f"import os; print(open('/proc/{os.getpid()}/environ').read())",
                f"import os; os.kill({os.getpid()}, 0); print({_CANARY!r})",
            )
            for source in attempts:
                execution = bench.run(source)
                require(_CANARY not in execution.stdout, f"a program reached the host: {source}")
            require(not target.exists(), "a program wrote a file of the host")
        finally:
            del os.environ[_CANARY_VARIABLE]


def _closing(check: Callable[[SandboxBench], object]) -> Callable[[SandboxBench], None]:
    @functools.wraps(check)
    def checked(bench: SandboxBench) -> None:
        with bench:
            check(bench)

    return checked


def _with_sessions(check: Callable[[SessionSandbox], None]) -> Callable[[SandboxBench], None]:
    @functools.wraps(check)
    def checked(bench: SandboxBench) -> None:
        if not isinstance(bench.sandbox, SessionSandbox):
            raise NotCheckedError("the sandbox has no sessions")
        check(bench.sandbox)

    return checked


_CHECKS: dict[str, Callable[[SandboxBench], None]] = {
    "construction": _construction,
    "results": _results,
    "input": _input,
    "output": _output,
    "interpreter": _interpreter,
    "limits": _limits,
    "leftovers": _leftovers,
    "tests": _tests,
    "asynchronous": _asynchronous,
    "isolation": _isolation,
    **{name: _with_sessions(check) for name, check in SESSION_CHECKS.items()},
}

SANDBOX_CHECKS = {name: _closing(check) for name, check in _CHECKS.items()}
"""Checks by name; the docstring of each says what it requires."""

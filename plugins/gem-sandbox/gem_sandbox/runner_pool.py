"""A pool of runners for one kind of sandbox."""

import threading
from typing import Any

from gem_core.errors import SandboxError
from gem_core.sandbox import Execution
from gem_sandbox.fair_semaphore import FairSemaphore
from gem_sandbox.runner import Launcher, Runner
from gem_workers.cancellation import cancellable

__all__ = ["RunnerPool"]


class RunnerPool:
    """Runners that are started when they are first needed.

    Args:
        launcher: Starts runners.
        size: The number of programs that may run at the same time.
    """

    def __init__(self, launcher: Launcher, size: int) -> None:
        self._launcher, self._size = launcher, size
        self._reset()

    def _reset(self) -> None:
        self._slots = FairSemaphore(self._size)
        self._lock = threading.Lock()
        self._idle: list[Runner] = []
        self._runners: set[Runner] = set()

    def run(self, request: dict[str, Any], timeout: float) -> Execution:
        """Run a program; a runner that turns out to be dead is replaced once."""
        with self._slots.acquire():
            for _ in range(2):
                runner = self.take()
                try:
                    with cancellable(runner.channel.hang_up):
                        if not runner.begin(request):
                            continue
                        execution, _ = runner.execution(timeout)
                    return execution
                finally:
                    self.give_back(runner)
        raise SandboxError("The sandbox's runners die as soon as they get a request.")

    def take(self) -> Runner:
        """Return a runner that is ready; start one if none is idle."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
        runner = Runner(self._launcher.launch())
        with self._lock:
            self._runners.add(runner)
        try:
            with cancellable(runner.channel.hang_up):
                runner.wait_until_clean()
        except BaseException:
            self._end(runner)
            raise
        return runner

    def give_back(self, runner: Runner) -> None:
        """Take a runner back when it is clean; end one that cannot be cleaned."""
        try:
            runner.wait_until_clean()
        except SandboxError:
            self._end(runner)
            return
        except BaseException:
            self._end(runner)
            raise
        with self._lock:
            if runner in self._runners and len(self._idle) < self._size:
                self._idle.append(runner)
                return
        self._end(runner)

    def _end(self, runner: Runner) -> None:
        with self._lock:
            self._runners.discard(runner)
        runner.channel.kill()

    def close(self) -> None:
        """End all runners, including those that are running a program."""
        with self._lock:
            runners, self._runners, self._idle = self._runners, set(), []
        for runner in runners:
            runner.channel.kill()
        self._launcher.close()

    def forget(self) -> None:
        """Start empty in a forked process; the runners belong to its parent."""
        runners = self._runners
        self._reset()
        for runner in runners:
            runner.channel.abandon()

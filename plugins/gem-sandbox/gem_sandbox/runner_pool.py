"""A pool of runners for one kind of sandbox."""

from typing import Any

from gem_core.errors import SandboxError
from gem_core.lifetimes import Lock
from gem_sandbox.fair_semaphore import Endable, FairSemaphore
from gem_sandbox.runner import Launcher, Runner
from gem_workers.cancellation import cancellable
from gem_workers.sandbox import Execution

__all__ = ["RunnerPool"]


class RunnerPool:
    """Runners that are started when they are first needed.

    Args:
        launcher: Starts runners.
        size: The number of programs that may run at the same time.
    """

    def __init__(self, launcher: Launcher, size: int) -> None:
        self._launcher, self._size = launcher, size
        self._slots = FairSemaphore(size)
        self._lock = Lock()
        self._idle: list[Runner] = []
        self._runners: set[Runner] = set()
        self._is_closed = False

    def run(self, request: dict[str, Any], timeout: float, endable: Endable) -> Execution:
        """Run a program; a runner that turns out to be dead is replaced once.

        Args:
            request: The program.
            timeout: Its seconds.
            endable: Is told how a wait can be ended; see ``PooledSandbox.endable``.
        """
        with self._slots.acquire(endable=endable):
            for _ in range(2):
                runner = self.take(endable)
                try:
                    with endable(runner.channel.hang_up):
                        if not runner.begin(request):
                            continue
                        execution, _ = runner.execution(timeout)
                except BaseException:
                    runner.channel.hang_up()  # nobody waits for the program any more
                    raise
                else:
                    return execution
                finally:
                    self.give_back(runner)
        raise SandboxError("The sandbox's runners die as soon as they get a request.")

    def take(self, endable: Endable = cancellable) -> Runner:
        """Return a runner that is ready; start one if none is idle.

        Raises:
            SandboxError: None can be started, or the pool is closed.
        """
        with self._lock:
            self._check_open()
            if self._idle:
                return self._idle.pop()
        runner = Runner(self._launcher.launch())
        try:
            with self._lock:
                self._check_open()
                self._runners.add(runner)
            with endable(runner.channel.hang_up):
                runner.wait_until_clean()
        except BaseException:
            self._end(runner)
            raise
        return runner

    def _check_open(self) -> None:
        if self._is_closed:
            raise SandboxError("This sandbox is closed.")

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
        """End all runners, including those that are running a program; the pool starts no other.

        A runner that does not end within 5 seconds is killed.
        """
        with self._lock:
            self._is_closed = True
            runners, self._runners, self._idle = self._runners, set(), []
        for runner in runners:
            runner.channel.kill()
        self._launcher.close()

    def forget(self) -> None:
        """Close the connections to runners, which belong to the parent of this fork."""
        for runner in self._runners:
            runner.channel.abandon()

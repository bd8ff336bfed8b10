"""``check_sandbox`` finds what is wrong with a sandbox."""

import contextlib
import dataclasses
import threading
from collections.abc import Callable, Iterator, Sequence

import pytest
from backends import BACKENDS

from gem_core.errors import SandboxError
from gem_core.registry import Registry
from gem_core.specs import Spec
from gem_workers.sandbox import SANDBOXES, Execution, Program, Sandbox
from gem_workers.testing import check_registered_sandbox, check_sandbox, sandbox_checks

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def _runners() -> Iterator[None]:
    """Runners that all sandboxes of this module share."""
    with contextlib.closing(BACKENDS["process"](workers=1)) as sandbox:
        sandbox.run(Program(""))
        yield


class Flawed:
    """A sandbox that works, except for what a subclass changes."""

    isolated = False

    def __init__(self) -> None:
        self.sandbox = BACKENDS["process"](workers=1)

    def __getattr__(self, name: str) -> object:
        return getattr(self.sandbox, name)

    def run(self, program: Program) -> Execution:
        return self.sandbox.run(program)

    def run_tests(self, program: Program, inputs: Sequence[str], **more: object) -> list[Execution]:
        return self.sandbox.run_tests(program, inputs, **more)


class Liar(Flawed):
    isolated = True


class Deaf(Flawed):
    def run(self, program: Program) -> Execution:
        return self.sandbox.run(dataclasses.replace(program, stdin=""))


class Stubborn(Flawed):
    def run_tests(self, program: Program, inputs: Sequence[str], **more: object) -> list[Execution]:
        return self.sandbox.run_tests(program, inputs)


class Silent(Flawed):
    def run(self, program: Program) -> Execution:
        return dataclasses.replace(self.sandbox.run(program), limit=None)


class Forgetful(Flawed):
    def session(self, **limits: object) -> object:
        sandbox, session = self.sandbox, self.sandbox.session(**limits)

        class Session:
            run = staticmethod(lambda source, **_: sandbox.run(Program(source)))
            arun, snapshot = session.arun, session.snapshot
            restore, close = session.restore, session.close

        return Session()


class Generous(Flawed):
    """Allows sessions eight times the memory that they ask for."""

    def session(self, *, memory: int = 1 << 30, **limits: object) -> object:
        return self.sandbox.session(memory=8 * memory, **limits)


class Restless(Flawed):
    """Never stops its sessions: they run something between the runs."""

    def session(self, **limits: object) -> object:
        session = self.sandbox.session(**limits)
        idle = threading.Event()
        threads: list[threading.Thread] = []

        def go_on() -> None:
            with contextlib.suppress(SandboxError):  # the session has ended
                while idle.is_set():
                    session.run("import time; time.sleep(0.05)")

        def end_idling() -> None:
            idle.clear()
            for thread in threads:
                thread.join()

        class Session:
            arun, snapshot, restore = session.arun, session.snapshot, session.restore

            def run(self, source: str, **more: object) -> Execution:
                end_idling()
                execution = session.run(source, **more)
                idle.set()
                threads.append(threading.Thread(target=go_on))
                threads[-1].start()
                return execution

            def close(self) -> None:
                end_idling()
                session.close()

        return Session()


class Hanging(Flawed):
    """Never ends a run, unless it is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.released = threading.Event()

    def run(self, program: Program) -> Execution:
        self.released.wait()
        return Execution(0)

    def close(self) -> None:
        self.released.set()
        self.sandbox.close()


@pytest.mark.parametrize(
    ("flawed", "check", "message"),
    [
        (Liar, "isolation", "a program reached the host"),
        (Deaf, "input", "failed"),
        (Stubborn, "tests", "it did not stop"),
        (Silent, "limits", "limit is None, not 'wall_time'"),
        (Silent, "output", "limit is None, not 'output'"),
        (Forgetful, "sessions", "NameError"),
        (Generous, "session_memory", "live with 256 MiB"),
        (Restless, "session_pauses", "its processes paused for"),
    ],
)
def test_a_flaw_is_found(flawed: Callable[[], Sandbox], check: str, message: str) -> None:
    (finding,) = check_sandbox(flawed, checks=[check]).findings
    assert finding.check == check
    assert message in finding.message


def test_what_is_not_flawed_passes() -> None:
    assert check_sandbox(Flawed, checks=["input", "tests", "output"]).ok


def test_a_sandbox_that_hangs_is_a_finding_and_the_other_checks_go_on() -> None:
    made: list[Hanging] = []

    def make() -> Sandbox:
        made.append(Hanging())
        return made[-1]

    report = check_sandbox(make, checks=["results", "asynchronous", "isolation"], deadline=0.5)
    assert {finding.check for finding in report.findings} == {"results", "asynchronous"}
    assert {finding.message for finding in report.findings} == {"did not end within 0.5 seconds"}
    assert report.unchecked == ["isolation: the sandbox does not isolate"]
    for sandbox in made[:2]:
        assert sandbox.released.wait(60), "the sandbox that hangs was not closed"


def test_a_sandbox_that_hangs_when_it_is_made_is_a_finding() -> None:
    release = threading.Event()

    def make() -> Sandbox:
        release.wait()
        return Flawed()

    (finding,) = check_sandbox(make, checks=["results"], deadline=0.2).findings
    release.set()
    assert finding.message == "did not end within 0.2 seconds"


def test_what_does_not_apply_is_reported_as_unchecked_and_not_as_a_finding() -> None:
    report = check_sandbox(Flawed, checks=["construction", "isolation"])
    assert report.ok
    assert report.unchecked == ["isolation: the sandbox does not isolate"]


def test_a_registered_sandbox_that_hangs_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry()
    registry.add(Spec(kind=SANDBOXES, id="hanging", entry_point=f"{__name__}:Hanging"))
    monkeypatch.setattr(sandbox_checks, "default_registry", lambda: registry)
    report = check_registered_sandbox("hanging", deadline=0.5)
    (finding,) = report.findings
    assert finding.message == "running an empty program did not end within 0.5 seconds"

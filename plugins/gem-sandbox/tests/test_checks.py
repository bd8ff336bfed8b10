"""``check_sandbox`` finds what is wrong with a sandbox."""

import dataclasses
from collections.abc import Callable, Sequence

import pytest
from backends import BACKENDS

from gem_core.sandbox import Execution, Program, Sandbox
from gem_core.testing import check_sandbox


class Flawed:
    """A sandbox that works, but for what a test changes."""

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


@pytest.mark.parametrize(
    ("flawed", "check", "message"),
    [
        (Liar, "isolation", "a program got out"),
        (Deaf, "input", "failed"),
        (Stubborn, "tests", "it went on"),
        (Silent, "limits", "limit is None, not 'wall_time'"),
        (Silent, "output", "limit is None, not 'output'"),
        (Forgetful, "sessions", "x"),
    ],
)
def test_a_flaw_is_found(flawed: Callable[[], Sandbox], check: str, message: str) -> None:
    (finding,) = check_sandbox(flawed, checks=[check]).findings
    assert finding.check == check
    assert message in finding.message


@pytest.mark.parametrize("check", ["input", "tests", "output"])
def test_what_is_not_flawed_passes(check: str) -> None:
    assert check_sandbox(Flawed, checks=[check]).ok

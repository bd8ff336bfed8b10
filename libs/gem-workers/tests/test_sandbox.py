"""What authors and users of sandboxes get from the core; plugins test the sandboxes themselves."""

import asyncio

import pytest

from gem_core.errors import ConfigError, SandboxError
from gem_workers import BaseSandbox
from gem_workers.sandbox import Execution, Program, Sandbox, SessionSandbox, open_session


class Echo(BaseSandbox):
    """Prints its standard input; fails if there is none."""

    def run(self, program):
        self.check_open()
        return Execution(exit_status=0 if program.stdin else 1, stdout=program.stdin)


def test_a_sandbox_that_only_has_run_is_complete_but_for_sessions():
    sandbox = Echo()
    assert isinstance(sandbox, Sandbox)
    assert not isinstance(sandbox, SessionSandbox)
    program = Program("", stdin="said")
    assert sandbox.run(program).stdout == asyncio.run(sandbox.arun(program)).stdout == "said"
    outputs = [execution.stdout for execution in sandbox.run_tests(program, ["a", "b"])]
    assert outputs == ["a", "b"]


def test_tests_stop_when_the_caller_says_so():
    executions = asyncio.run(
        Echo().arun_tests(Program(""), ["a", "", "b"], stop=lambda _, execution: not execution.ok)
    )
    assert [execution.stdout for execution in executions] == ["a", ""]


def test_a_closed_sandbox_refuses_to_run():
    sandbox = Echo()
    sandbox.close()
    sandbox.close()
    with pytest.raises(SandboxError, match="closed"):
        sandbox.run(Program(""))


def test_a_session_of_a_sandbox_without_sessions_is_an_error_that_says_what_to_do():
    with pytest.raises(SandboxError, match=r"Echo has no sessions.* such as 'warm'"):
        open_session(Echo())


def test_a_program_that_cannot_run_is_refused(subtests):
    for fields, message in (
        *(({name: 0}, f"{name} must be above 0; got 0") for name in ("timeout", "cpu_time")),
        *(({name: -1}, f"{name} must be above 0; got -1") for name in ("memory", "processes")),
        ({"output_limit": 0}, "output_limit must be above 0"),
        ({"file_size": float("nan")}, "file_size must be above 0; got nan"),
        ({"files": {"/etc/passwd": b""}}, "relative path"),
        ({"files": {"a/../../b": b""}}, "relative path"),
        ({"files": {"": b""}}, "relative path"),
        ({"files": {"a\0b": b""}}, "relative path"),
    ):
        with subtests.test(str(fields)), pytest.raises(ConfigError, match=message):
            Program("pass", **fields)

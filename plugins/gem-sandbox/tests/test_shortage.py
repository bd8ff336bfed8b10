"""A host that has too few open files is not reported as one where no isolation works."""

import errno
import subprocess
import sys

import pytest
from backends import require

from gem_core.errors import SandboxError
from gem_sandbox.shortage import shortage
from gem_sandbox.warm import tiers

RUN = """
import resource, sys
limit = tuple(map(int, sys.argv[1:]))
resource.setrlimit(resource.RLIMIT_NOFILE, limit)
from gem_workers import Program, make_sandbox
from gem_core.errors import SandboxError
try:
    print(make_sandbox("warm").run(Program("print(42)")).stdout)
except SandboxError as error:
    print(error)
"""


def run_with_open_files(soft: int, hard: int) -> str:
    """Run a program where a process may open this many files; return its output or the error."""
    command = [sys.executable, "-c", RUN, str(soft), str(hard)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
def test_too_few_open_files_are_the_error_and_not_a_lack_of_isolation() -> None:
    said = run_with_open_files(64, 64)
    assert "too many open files" in said
    assert "64" in said
    assert "ulimit -n" in said
    assert "isolation" not in said


@pytest.mark.slow
def test_a_limit_that_can_be_raised_is_no_obstacle() -> None:
    require("warm-confined")
    assert run_with_open_files(64, 1024) == "42\n\n"


def test_a_shortage_while_a_tier_is_tried_is_not_kept_and_no_weaker_tier_is_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried = []

    def fail(tier: str) -> None:
        tried.append(tier)
        raise SandboxError("cannot start") from OSError(errno.EMFILE, "Too many open files")

    tiers.why_not.cache_clear()
    tiers.strongest_tier.cache_clear()
    monkeypatch.setattr(tiers, "_probe", fail)
    for _ in range(2):
        with pytest.raises(SandboxError, match="too many open files"):
            tiers.strongest_tier()
    assert tried == ["full", "full"]
    tiers.why_not.cache_clear()


def test_other_errors_are_no_shortage() -> None:
    assert shortage(OSError(errno.ENOENT, "no such file")) == ""
    assert shortage(None) == ""

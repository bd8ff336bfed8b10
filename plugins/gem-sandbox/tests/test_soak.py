"""Many runs, some of them hostile, leave no processes behind and leak no memory.

A longer soak: ``python plugins/gem-sandbox/tests/escape_suite.py soak warm-full 20000``.
"""

import platform

import pytest
from backends import make_backend
from escape_suite import Before, HostSide, benign, leftovers, soak
from selection import thorough

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="the programs know the system calls of x86-64"
)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "runs"), [("warm-full", 400), ("docker", 200)])
def test_processes_and_memory_do_not_grow(name: str, runs: int) -> None:
    runs = runs if thorough() else runs // 4
    sandbox, host = make_backend(name, workers=1), HostSide()
    assert benign(sandbox, host) == []
    before = Before.now(name)
    samples = list(soak(name, sandbox, host, runs=runs, samples=4))
    assert samples[-1].processes <= samples[0].processes
    assert samples[-1].descriptors <= samples[0].descriptors
    assert samples[-1].threads <= samples[0].threads
    assert samples[-1].mebibytes < 1.2 * samples[0].mebibytes + 20
    assert leftovers(name, before) == []
    sandbox.close()
    host.close()

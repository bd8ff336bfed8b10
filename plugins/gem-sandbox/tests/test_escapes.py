"""No hostile program escapes from an isolated sandbox, affects the next run, or survives."""

import platform
from collections.abc import Iterator
from pathlib import Path

import pytest
from backends import BACKENDS, ISOLATED, make_backend
from escape_suite import ESCAPES, Before, HostSide, attack, benign, header, leftovers, patience
from selection import thorough

from gem_workers.sandbox import Sandbox

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="the programs know the system calls of x86-64"
)
PLAIN = ("files_read_canary", "net_tcp", "proc_environ", "signal_everybody")
OTHERS = [path for path in ESCAPES if path.stem not in PLAIN]
PARTS = 8
PROGRAMS = {
    "plain": [path for path in ESCAPES if path.stem in PLAIN],
    **{f"part {number + 1}": OTHERS[number::PARTS] for number in range(PARTS)},
}
SECONDS, IDLE = (0.7, 0.6) if thorough() else (0.3, 0.3)


@pytest.fixture(scope="module")
def host() -> Iterator[HostSide]:
    side = HostSide(idle=IDLE)
    yield side
    side.close()


@pytest.fixture(scope="module", params=ISOLATED)
def backend(
    request: pytest.FixtureRequest, host: HostSide
) -> Iterator[tuple[str, Sandbox, Before]]:
    sandbox = make_backend(request.param, workers=1)
    assert benign(sandbox, host) == []
    assert benign(sandbox, host) == []
    yield request.param, sandbox, Before.now(request.param)
    sandbox.close()


@pytest.mark.parametrize(
    "programs",
    [
        pytest.param(programs, id=name, marks=[pytest.mark.slow] if name != "plain" else [])
        for name, programs in PROGRAMS.items()
    ],
)
def test_no_hostile_program_escapes_or_affects_the_next_run_or_survives(
    programs: list[Path],
    backend: tuple[str, Sandbox, Before],
    host: HostSide,
    subtests: pytest.Subtests,
) -> None:
    assert programs
    name, sandbox, before = backend
    for path in programs:
        with subtests.test(path.stem):
            assert all(header(path)), "its first lines do not say what it tries"
            executions = attack(sandbox, path, host, patience(sandbox, SECONDS))
            found = [damage for each in executions for damage in host.damage(each)]
            found += benign(sandbox, host)
            found += leftovers(name, before)
            assert found == []


def test_hostile_programs_are_not_run_without_isolation(host: HostSide) -> None:
    sandbox = BACKENDS["process"](workers=1)
    path = Path(__file__).parent / "escapes" / "files_read_canary.py"
    with pytest.raises(ValueError, match="only in sandboxes that isolate"):
        attack(sandbox, path, host, 1.0)
    sandbox.close()

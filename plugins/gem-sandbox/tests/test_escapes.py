"""No hostile program escapes from an isolated sandbox, affects the next run, or survives."""

import platform
from collections.abc import Iterator
from pathlib import Path

import pytest
from backends import ISOLATED, make_backend
from escape_suite import ESCAPES, Before, HostSide, attack, benign, header, leftovers

from gem_core.sandbox import Sandbox

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="the programs know the system calls of x86-64"
)


@pytest.fixture(scope="module")
def host() -> Iterator[HostSide]:
    side = HostSide()
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


def test_each_program_says_what_it_tries_and_what_success_would_be() -> None:
    assert ESCAPES
    for path in ESCAPES:
        assert path.read_text().startswith("# Tries: ")
        assert all(header(path)), path


@pytest.mark.parametrize("path", ESCAPES, ids=lambda path: path.stem)
def test_it_does_not_escape(
    path: Path, backend: tuple[str, Sandbox, Before], host: HostSide
) -> None:
    name, sandbox, before = backend
    found = [damage for each in attack(sandbox, path, host) for damage in host.damage(each)]
    found += benign(sandbox, host)
    found += leftovers(name, before)
    assert found == []

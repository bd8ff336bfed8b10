"""Fixtures of several modules, and the folder of the modules that they share."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gem_sandbox.machines.local.provider import LocalProvider
from gem_workers.machine import Machine, MachineSpec

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def local() -> None:
    """Skip the test where no machine of the provider ``local`` can be started."""
    from local_machines import why_not_local

    if reason := why_not_local():
        pytest.skip(reason)


@pytest.fixture(scope="session")
def provider(local: None) -> Iterator[LocalProvider]:
    """A provider of local machines, builds without a network; all others use its server."""
    with LocalProvider(build_network="none") as made:
        yield made


@pytest.fixture
def machine(provider: LocalProvider) -> Iterator[Machine]:
    """A new machine."""
    with provider.start(MachineSpec()) as made:
        yield made

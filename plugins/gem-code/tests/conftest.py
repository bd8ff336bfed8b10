"""A sandbox for tests that need no environment; modules that several test modules use."""

import sys
from pathlib import Path

import pytest

from gem_workers.sandbox import Program, make_sandbox

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def sandbox():
    made = make_sandbox("warm")
    made.run(Program("pass"))  # from now on equal sandboxes share its processes
    yield made
    made.close()

"""A sandbox for tests that need no environment."""

import pytest

from gem_core import make_sandbox


@pytest.fixture(scope="session")
def sandbox():
    made = make_sandbox("warm")
    yield made
    made.close()

"""Shared fixtures."""

from types import ModuleType

import pytest
from cli import gem


@pytest.fixture
def run_command(tmp_path):
    """Run ``gem-core`` in a temporary folder, and return its standard output."""

    def run(*arguments, status=0):
        done = gem(*arguments, cwd=tmp_path, env={"HYDRA_FULL_ERROR": "1", "HF_HUB_OFFLINE": "1"})
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def openai() -> ModuleType:
    """The SDK, whose import takes a second."""
    return pytest.importorskip("openai")

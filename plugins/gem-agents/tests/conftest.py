"""Shared fixtures."""

import os
import subprocess

import pytest
from gem_command import gem_command


@pytest.fixture
def run_command(tmp_path):
    """Run ``gem-core`` in a temporary folder, and return its standard output."""

    def run(*arguments, status=0):
        environ = {name: value for name, value in os.environ.items() if name != "GEM_PLUGINS"}
        done = subprocess.run(
            [*gem_command(), *arguments],
            cwd=tmp_path,
            env={**environ, "HYDRA_FULL_ERROR": "1", "HF_HUB_OFFLINE": "1"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    return run

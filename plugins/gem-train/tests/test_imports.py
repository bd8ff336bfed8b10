"""What can be had of the plugin where torch is not installed."""

import subprocess
import sys

import pytest

MODULES = ("config", "curriculum", "metrics", "plots", "plugin", "progress", "sft_config")


@pytest.mark.parametrize("name", MODULES)
def test_a_module_that_needs_no_torch_imports_none(name):
    code = f"import sys; sys.modules['torch'] = None; import gem_train.{name}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()

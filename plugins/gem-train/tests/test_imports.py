"""What can be had of the plugin where torch is not installed."""

import json

import pytest

MODULES = ("config", "curriculum", "metrics", "plots", "plugin", "progress", "sft_config")
CODE = f"""
import importlib, json, sys
sys.modules["torch"] = None
problems = {{}}
for name in {MODULES}:
    try:
        importlib.import_module("gem_train." + name)
    except Exception as error:
        problems[name] = repr(error)
print(json.dumps(problems))
"""


@pytest.mark.slow
def test_modules_that_need_no_torch_can_be_imported_without_it(run_python):
    assert json.loads(run_python(CODE)) == {}

"""The conformance suite for each adapter whose framework is installed.

``GEM_TEST_ADAPTERS`` names adapters whose framework must be installed, separated by commas. The
stubs are tested beside the suite, in ``libs/gem-rollout/tests/test_adapter_checks.py``.
"""

import os
from importlib.util import find_spec

import pytest

from gem_adapters.harnesses import MissingFrameworkError, harness_names, load_harness
from gem_adapters.testing.adapter_checks import (
    BAD_INPUTS,
    CHECKS,
    Result,
    run_bad_input,
    run_check,
)
from gem_adapters.testing.adapters import Harness

REQUIRED = {name.strip() for name in os.environ.get("GEM_TEST_ADAPTERS", "").split(",")}
PACKAGES = {"rl2": "RL2", "tinker": "tinker_cookbook"}
"""The packages of frameworks that are not called like their adapters."""
ADAPTERS = [
    name for name in harness_names() if name in REQUIRED or find_spec(PACKAGES.get(name, name))
]

if not ADAPTERS:
    pytest.skip("no framework of an adapter is installed", allow_module_level=True)


@pytest.fixture(scope="module", params=ADAPTERS)
def harness(request: pytest.FixtureRequest) -> Harness:
    pytest.importorskip("tokenizers")
    try:
        return load_harness(request.param)
    except MissingFrameworkError as error:
        if request.param in REQUIRED:
            pytest.fail(f"GEM_TEST_ADAPTERS names {request.param}: {error}", pytrace=False)
        pytest.skip(str(error))


def accept(result: Result) -> None:
    if result.skipped:
        pytest.skip(result.skipped)
    assert result.passed, result.message


@pytest.mark.parametrize("check", CHECKS)
def test_the_adapter_passes_the_check(harness: Harness, check: str) -> None:
    accept(run_check(harness, check))


@pytest.mark.parametrize("name", BAD_INPUTS)
def test_the_adapter_treats_the_unusual_input_as_it_must(harness: Harness, name: str) -> None:
    accept(run_bad_input(harness, name))

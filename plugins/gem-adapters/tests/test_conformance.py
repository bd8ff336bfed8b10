"""The conformance suite, for the stubs and for each adapter whose framework is installed.

``GEM_TEST_ADAPTERS`` names adapters whose framework must be installed, separated by commas.
"""

import os

import pytest

from gem_adapters.harnesses import MissingFrameworkError, harness_names, load_harness
from gem_rollout.testing.adapter_checks import (
    BAD_INPUTS,
    CHECKS,
    Result,
    run_bad_input,
    run_check,
)
from gem_rollout.testing.adapters import Harness

ADAPTERS = ["stub.pull", "stub.push", *harness_names()]
REQUIRED = {name.strip() for name in os.environ.get("GEM_TEST_ADAPTERS", "").split(",")}


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
def test_the_adapter_passes(harness: Harness, check: str) -> None:
    accept(run_check(harness, check))


@pytest.mark.parametrize("name", BAD_INPUTS)
def test_the_adapter_refuses(harness: Harness, name: str) -> None:
    accept(run_bad_input(harness, name))

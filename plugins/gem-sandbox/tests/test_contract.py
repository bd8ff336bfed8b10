"""Every sandbox keeps the contract of ``gem_workers.testing.check_sandbox``."""

import pytest
from backends import BACKENDS, require

from gem_workers.testing import SANDBOX_CHECKS, check_sandbox


@pytest.mark.thorough
@pytest.mark.parametrize("check", SANDBOX_CHECKS)
@pytest.mark.parametrize("name", BACKENDS)
def test_it_keeps_the_contract(name: str, check: str) -> None:
    require(name)
    check_sandbox(BACKENDS[name], checks=[check]).raise_for_findings()

"""Every sandbox keeps the contract of ``gem_workers.testing.check_sandbox``."""

import pytest
from backends import BACKENDS, require
from selection import some

from gem_workers.testing import SANDBOX_CHECKS, check_sandbox

pytestmark = pytest.mark.slow
CASES = some((name, check) for name in BACKENDS for check in SANDBOX_CHECKS)


@pytest.mark.parametrize(("name", "check"), CASES)
def test_a_sandbox_keeps_the_contract(name: str, check: str) -> None:
    require(name)
    check_sandbox(BACKENDS[name], checks=[check]).raise_for_findings()

"""The conformance checks of sandboxes and of machines."""

from gem_workers.testing.machine_checks import (
    MACHINE_CHECKS,
    check_machine,
    check_registered_machine,
)
from gem_workers.testing.sandbox_checks import (
    SANDBOX_CHECKS,
    check_registered_sandbox,
    check_sandbox,
)

__all__ = [
    "MACHINE_CHECKS",
    "SANDBOX_CHECKS",
    "check_machine",
    "check_registered_machine",
    "check_registered_sandbox",
    "check_sandbox",
]

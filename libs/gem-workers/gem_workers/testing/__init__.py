"""The conformance checks of sandboxes."""

from gem_workers.testing.sandbox_checks import (
    SANDBOX_CHECKS,
    check_registered_sandbox,
    check_sandbox,
)

__all__ = ["SANDBOX_CHECKS", "check_registered_sandbox", "check_sandbox"]

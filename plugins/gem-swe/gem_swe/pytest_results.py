"""A plugin of pytest that prints the result of each test as a line of JSON.

It runs in the Python of a machine, which has pytest but not gem-core. The variable
``GEM_SWE_MUST_FAIL`` is the name of a test that is collected whatever a configuration says.
"""

import json
import os
from typing import Any

MARK = "@gem-swe@ "
_out = os.fdopen(os.dup(1), "w", buffering=1)


def pytest_configure(config: Any) -> None:
    """Have the test that must fail collected."""
    name = os.environ["GEM_SWE_MUST_FAIL"]
    config.addinivalue_line("python_functions", name)
    config.addinivalue_line("python_files", f"{name}.py")


def pytest_runtest_logreport(report: Any) -> None:
    """Print the result of a test when it has failed or its call has ended."""
    if report.failed:
        crash = getattr(report.longrepr, "reprcrash", None)
        message = getattr(crash, "message", None) or str(report.longrepr)
        _print(report.nodeid, "failed", message[:2000])
    elif report.when == "call":
        is_expected = hasattr(report, "wasxfail")
        _print(report.nodeid, "passed" if report.passed or is_expected else "skipped", "")


def pytest_collectreport(report: Any) -> None:
    """Print why a file cannot be collected."""
    if report.failed:
        _print(report.nodeid, "failed", str(report.longrepr)[-2000:])


def _print(*values: str) -> None:
    _out.write(f"\n{MARK}{json.dumps(values)}\n")

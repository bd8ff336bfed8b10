"""Rules for every test of the repository: skips give their reason, and no process is left.

Folders called ``nightly`` are collected only where they are named. Of tests that use
``selection.some``, all cases run where ``GEM_TEST_THOROUGH`` is set.
"""

import os
import sys
from pathlib import Path

import pytest
from commands import end_commands, hear_ctrl_c
from hypothesis import HealthCheck, settings
from needs import PACKAGES, how_to_get, missing, required

from gem_core import lifetimes

pytest_plugins = ["shared_fixtures", "skipped"]


def pytest_configure() -> None:
    """Check the required software, restore the handling of Ctrl-C, and keep bytecode."""
    required()
    hear_ctrl_c()
    os.environ["GEM_CORE_IMAGES"] = os.devnull  # the roots of who runs the tests do not count
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # tiny models are slower with several threads
    # Otherwise each of the many processes that tests start compiles every module again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    settings.register_profile(  # nothing asserts a time
        "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
    settings.load_profile("any machine")
    # It starts with the first resource of a process; tests count the threads that they leave.
    lifetimes._closer.start()  # noqa: SLF001 - nothing public starts it alone


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Start one worker more than there are cores: tests wait for what they have started."""
    return (os.cpu_count() or 1) + 1


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module:
    """Skip a module that imports a missing optional package instead of failing."""
    return _Module.from_parent(parent, path=module_path)


class _Module(pytest.Module):
    def collect(self) -> list[pytest.Item | pytest.Collector]:
        try:
            return list(super().collect())
        except self.CollectError as error:
            cause = error.__cause__
            package = (getattr(cause, "name", None) or "").partition(".")[0]
            if not isinstance(cause, ModuleNotFoundError) or package not in PACKAGES:
                raise
            missing(package, f"{self.nodeid}: {package} is not installed: {how_to_get(package)}")


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """End the processes that a test has started."""
    end_commands()

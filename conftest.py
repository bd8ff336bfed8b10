"""What holds for every test of the repository: skips that give their reason, and no leftovers."""

from pathlib import Path

import pytest
from commands import end_commands, hear_ctrl_c
from needs import PACKAGES, how_to_get, missing, required


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the option with which CI runs later what was skipped on a bare machine."""
    parser.addoption(
        "--write-skipped", metavar="FILE", help="write what was skipped, as `pytest @FILE` takes it"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Check what is required, and hear Ctrl-C in whatever way the tests were started."""
    required()
    hear_ctrl_c()
    path = config.getoption("--write-skipped")
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_SkippedWriter(Path(path)))


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module:
    """Have a module that imports what is not installed be skipped rather than be an error."""
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


class _SkippedWriter:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._names: dict[str, None] = {}

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._note(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._note(report)

    def _note(self, report: pytest.CollectReport | pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            self._names[report.nodeid] = None

    def pytest_sessionfinish(self) -> None:
        self._path.write_text("".join(f"{name}\n" for name in self._names), encoding="utf-8")

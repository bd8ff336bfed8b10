"""A pytest plugin that writes which tests were skipped, for ``pytest @FILE`` to run later."""

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the option."""
    parser.addoption("--write-skipped", metavar="FILE", help="write the names of skipped tests")


def pytest_configure(config: pytest.Config) -> None:
    """Write in the main process, which gets the reports of all workers."""
    path = config.getoption("--write-skipped")
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Writer(Path(path)))


class _Writer:
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

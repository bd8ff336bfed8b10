"""Rules for every test of the repository: skips give their reason, and no process is left."""

import gc
import os
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from commands import end_commands, hear_ctrl_c
from hypothesis import settings
from needs import PACKAGES, how_to_get, missing, required
from quick import SlowWriter, choose, choose_cases

pytest_plugins = ["shared_fixtures"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options of ``make quick`` and of CI, which reruns skipped tests."""
    parser.addoption("--quick", action="store_true", help="run a selection of tests, in a minute")
    parser.addoption(
        "--thorough", action="store_true", help="run all cases of the tests marked thorough"
    )
    parser.addoption("--write-slow", action="store_true", help="update the list of slow tests")
    parser.addoption(
        "--write-skipped",
        metavar="FILE",
        help="write the skipped tests, in the form of `pytest @FILE`",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Check the required software, restore the handling of Ctrl-C, and keep bytecode."""
    required()
    hear_ctrl_c()
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # tiny models are slower with several threads
    # Otherwise each of the many processes that tests start compiles every module again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    settings.register_profile("any machine", deadline=None)  # nothing asserts a time
    settings.load_profile("any machine")
    config.addinivalue_line("markers", "thorough: run some cases; all of them with --thorough")
    if not config.getoption("--thorough"):
        config.pluginmanager.register(_Selection(config))
    if hasattr(config, "workerinput"):
        return
    if path := config.getoption("--write-skipped"):
        config.pluginmanager.register(_SkippedWriter(Path(path)))
    if config.getoption("--write-slow"):
        config.pluginmanager.register(SlowWriter())


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Start one worker more than there are cores, as tests often wait for what they have started.

    Collecting the tests takes a worker longer than ``--quick`` then wins.
    """
    return (os.cpu_count() or 1) + (not config.getoption("--quick"))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Exempt what is collected from garbage collection: going through it takes half a second."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_unconfigure() -> None:
    """Let the interpreter free everything when it ends, which some libraries check."""
    gc.unfreeze()


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


class _Selection:
    """Runs a selection of tests and reports what it leaves out; each worker selects the same."""

    def __init__(self, config: pytest.Config) -> None:
        self._output: dict[str, object] = getattr(config, "workeroutput", {})

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        quick = config.getoption("--quick")
        choice = choose(items) if quick else choose_cases(items)
        items[:] = choice.kept
        config.hook.pytest_deselected(items=[*choice.slow, *choice.others])
        self._output["selection"] = choice.summary() if quick else choice.summary_of_cases()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._output.update(getattr(node, "workeroutput", {}))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if summary := self._output.get("selection"):
            terminalreporter.write_line(str(summary))


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

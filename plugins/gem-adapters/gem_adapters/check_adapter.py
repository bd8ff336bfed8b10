"""``gem-core check-adapter``: run the conformance suite against adapters."""

import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from gem_adapters.harnesses import (
    MissingFrameworkError,
    harness_names,
    load_harness,
    version_of,
)
from gem_adapters.testing.adapter_checks import Result, check_adapter, check_bad_inputs
from gem_adapters.testing.adapters import Harness
from gem_core.console import Terminal
from gem_core.errors import ConfigError, NotInstalledError

__all__ = ["command"]

_PACKAGES = ("jinja2", "tokenizers", "transformers")
_STYLES = {"pass": "green", "fail": "red", "skipped": "yellow"}

_EPILOG = """\b
Examples:
  gem-core check-adapter trl
  gem-core check-adapter all
  gem-core check-adapter stub.push
  gem-core check-adapter my_package.checks:HARNESS
"""


@click.command(epilog=_EPILOG)
@click.argument("name")
def command(name: str) -> None:
    """Check an adapter through its framework's own code.

    NAME is an adapter, all, or a harness of yours as module:attribute, where the module may be in
    the current folder. The nine checks compare
    token ids, masks, log-probabilities and rewards with those of play_tokens; further lines are
    inputs that must be refused. The exit status is 1 if a check fails, if the framework of a named
    adapter is missing, or if all finds no framework.
    """
    _check_packages()
    terminal = Terminal()
    if ":" in name:
        sys.path.insert(0, str(Path.cwd()))
    is_all = name == "all"
    summary = Table("adapter", "framework", "installed", "tested", "pass", "fail", "skipped")
    ran, failed = 0, False
    for one in harness_names() if is_all else [name]:
        try:
            harness = load_harness(one)
        except MissingFrameworkError as error:
            if not is_all:
                raise
            terminal.print(f"{one}: skipped, as {error}")
            continue
        results = [*check_adapter(harness), *check_bad_inputs(harness)]
        counts = Counter(map(_status, results))
        ran, failed = ran + 1, failed or counts["fail"] > 0
        _warn(harness)
        terminal.print(_table(harness, results))
        summary.add_row(*_described(harness), *(str(counts[status]) for status in _STYLES))
    if not ran:
        raise ConfigError(
            f"No framework is installed, so nothing was checked. Install one of "
            f"{', '.join(harness_names())}, such as pip install 'gem-adapters[trl]'."
        )
    terminal.print(summary)
    sys.exit(failed)


def _check_packages() -> None:
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise NotInstalledError(
            "The suite needs a tokenizer with a chat template. "
            f"Run: pip install {' '.join(missing)}"
        )


def _status(result: Result) -> str:
    return "skipped" if result.skipped else "pass" if result.passed else "fail"


def _described(harness: Harness) -> tuple[str, ...]:
    tested = ", ".join(harness.versions) or "-"
    return harness.name, harness.distribution or "-", version_of(harness) or "-", tested


def _warn(harness: Harness) -> None:
    version = version_of(harness)
    if version and version not in harness.versions:
        click.echo(
            f"Warning: {harness.distribution} {version} is installed, and {harness.name} was "
            f"tested with {', '.join(harness.versions) or 'no version'}.",
            err=True,
        )


def _table(harness: Harness, results: list[Result]) -> Table:
    table = Table("check", "result", "why", title=harness.name, title_justify="left")
    for result in results:
        status = _status(result)
        table.add_row(result.check, Text(status, _STYLES[status]), result.skipped or result.message)
    return table

"""``gem-core data``: whether datasets are what environments need."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from gem_core.console import Terminal
from gem_core.errors import ConfigError
from gem_core.options import complete_envs, format_option, print_json
from gem_core.plugins import default_registry
from gem_core.specs import ENVS, EnvSpec, check_kwargs
from gem_tasks.data_check import DataChecker, DataReport, Tally, reads_the_hub, size_text

__all__ = ["command"]

_STYLES = {"ok": "green", "failed": "red", "unreachable": "yellow"}
_INTERRUPTED = 130
_MANY = 8
"""The number of environments from which a line counts those that it is about."""
_WIDTH = 200
"""The width of output that does not go to a terminal."""


@click.group()
def command() -> None:
    """Check the data that environments read."""


@command.command(
    epilog="\b\nExamples:\n"
    "  gem-core data check all\n"
    "  gem-core data check math:GSM8K 'eval:*' --format json > report.json\n"
    "  HF_ENDPOINT=https://mirror.example gem-core data check all --stream\n"
    "  gem-core data check all --folder ~/downloads\n"
    "  gem-core data check math:Custom dataset_name=openai/gsm8k:main split=test \\\n"
    "    question_key=question 'answer_after=####'"
)
@click.argument(
    "words",
    nargs=-1,
    required=True,
    metavar="all|ID|PATTERN|KEY=VALUE...",
    shell_complete=complete_envs,
)
@click.option(
    "--folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Read downloaded datasets from this folder instead of the hub: the cache of `hf "
    "download`, or a folder or file for each dataset, such as org/name or name.jsonl.",
)
@click.option(
    "--rows",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="Rows of each environment whose grading is checked.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Which rows these are."
)
@click.option("--stream", is_flag=True, help="Read only the first --rows rows of each dataset.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    help="Seconds to wait while nothing arrives from the hub.",
)
@format_option()
def check(
    words: tuple[str, ...],
    folder: Path | None,
    rows: int,
    seed: int,
    timeout: float,
    form: str,
    *,
    stream: bool,
) -> None:
    """Check that the rows of environments are what they need, and graded as they should be.

    "all" stands for each installed environment over a dataset of the hub. KEY=VALUE sets an option
    of the environments, such as revision=COMMIT. Of each, the report has the dataset, the commit,
    the columns and their types, the first row, and the numbers of rows, of rows that the
    environment refuses, of gold answers that were graded 1, and of rows with only wrong answers
    graded wrong: none at all, and the gold answer of another row.

    The state is "ok", "failed" (the rows are not what the environment needs) or "unreachable"
    (the rows cannot be had). The exit status is 0 if all are ok, and 1 if not. Ctrl-C
    prints what was found.
    """
    specs = _specs(words)
    checker = DataChecker(
        folder=folder, rows=rows, seed=seed, stream=stream, timeout=timeout, say=_say
    )
    reports: list[DataReport] = []
    try:
        for number, spec in enumerate(specs, 1):
            _say(f"[{number}/{len(specs)}] {spec.id}", indent="")
            reports.append(checker.check(spec))
            _say(reports[-1].state)
    except KeyboardInterrupt:
        click.echo("Interrupted.", err=True)
    if form == "json":
        print_json([report.to_dict() for report in reports])
    else:
        _print(reports, len(specs))
    if len(reports) < len(specs):
        sys.exit(_INTERRUPTED)
    sys.exit(any(report.state != "ok" for report in reports))


def _say(line: str, indent: str = "    ") -> None:
    """Print a line on what is being done."""
    click.echo(indent + line, err=True)


def _specs(words: Sequence[str]) -> list[EnvSpec]:
    """Return the environments that words name, with the options among them."""
    ids = [word for word in words if "=" not in word]
    options = dict(_option(word) for word in words if "=" in word)
    if not ids:
        raise ConfigError("Name environments before their options, or 'all'.")
    found: dict[str, EnvSpec] = {}
    for one in ids:
        registry = default_registry()
        is_all = one == "all"
        named = registry.list(ENVS) if is_all else registry.matching(ENVS, one)
        several = is_all or any(sign in one for sign in "*?")
        for spec in named:
            if not several or reads_the_hub(spec):
                if options:
                    check_kwargs(spec.load(), options, f"{spec.kind} {spec.id!r}")
                found[spec.id] = spec.with_kwargs(**options)
    for spec in found.values():
        if not (spec.kwargs.get("data") or spec.kwargs.get("dataset_name")):
            raise ConfigError(
                f"{spec.id} has no rows of its own. Name them with dataset_name=org/name or "
                f"data=FILE; 'gem-core list --long' shows which environments have some."
            )
    if not found:
        raise ConfigError(f"No environment over a dataset of the hub matches {' '.join(ids)!r}.")
    return list(found.values())


def _option(word: str) -> tuple[str, Any]:
    """Return the name and the value of ``KEY=VALUE``; a value that is not JSON is a text."""
    key, _, text = word.partition("=")
    try:
        return key, json.loads(text)
    except ValueError:
        return key, text


def _print(reports: Sequence[DataReport], asked: int) -> None:
    terminal = Terminal(width=None if sys.stdout.isatty() else _WIDTH)
    table = Table(box=None, pad_edge=False)
    for heading in ("id", "dataset, split", "rows", "column: type found (needed) = first value"):
        table.add_column(heading, overflow="fold")
    for heading in ("refused", "gold 1", "wrong 0"):
        table.add_column(heading, justify="right")
    table.add_column("state")
    for report in reports:
        table.add_row(*_cells(report))
    if reports:
        terminal.print(table)
    lines: dict[tuple[str, str], list[str]] = {}
    for report in reports:
        for text in filter(None, (report.problem, *report.notes)):
            style = _STYLES[report.state] if text == report.problem else "dim"
            lines.setdefault((text, style), []).append(report.id)
    for (text, style), ids in lines.items():
        who = ", ".join(ids) if len(ids) < _MANY else f"{len(ids)} ids"
        terminal.print(Text(f"{who}: {text}", style), soft_wrap=True)
    counts = [(state, sum(one.state == state for one in reports)) for state in _STYLES]
    terminal.print(
        f"\n{len(reports)} of {asked} checked: "
        + ", ".join(f"{count} {state}" for state, count in counts if count or state == "ok")
        + "."
    )


def _cells(report: DataReport) -> list[str | Text]:
    lines = [f"{report.dataset}{f', {report.split}' if report.split else ''}"]
    if report.revision:
        lines.append(f"@{report.revision}" if len(report.revision) == 40 else report.revision[:19])
    if report.size is not None:
        lines.append(size_text(report.size))
    first = report.first_rows[0] if report.first_rows else {}
    columns = [
        f"{name}: {report.found.get(name, '?')} ({needed})"
        + (f" = {first[name]:.40}" if name in first else "")
        for name, needed in report.needs.items()
    ]
    state = report.state if report.state == "ok" else f"{report.state}: {report.cause}"
    return [
        report.id,
        "\n".join(lines),
        "" if report.rows is None else f"{report.rows:,}",
        "\n".join(columns),
        f"{report.refused:,}" if first else "",
        _count(report.gold),
        _count(report.wrong),
        Text(state, _STYLES[report.state]),
    ]


def _count(tally: Tally) -> str:
    return f"{tally.right}/{tally.tried}" if tally.tried else ""

"""Numbers and tables as Markdown, and the files and the page on the terminal that show them."""

import json
import os
import platform
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markdown import Markdown

__all__ = ["machine", "not_measured", "number", "table", "write"]


def number(value: float | None) -> str:
    """Return three significant digits without an exponent; "-" for None."""
    if value is None:
        return "-"
    if value >= 100 or value == int(value):
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.3g}"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, rule: str = "---:") -> str:
    """Return a Markdown table; ``rule`` aligns all columns but the first."""
    rules = ["---", *[rule] * (len(headings) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headings, rules, *rows))


def machine() -> str:
    """Return CPUs, platform, Python version and load average."""
    return (
        f"{os.cpu_count()} CPUs, {platform.platform()}, Python {platform.python_version()}, load "
        f"average at the end {os.getloadavg()[0]:.1f}"
    )


def not_measured(errors: dict[str, str]) -> list[str]:
    """Return a paragraph for each measurement that failed."""
    return [f"Not measured: {title}: {why}." for title, why in errors.items()]


def write(output: Path, stem: str, title: str, parts: Iterable[str], rounds: Any = None) -> None:
    """Write and print a page.

    Args:
        output: Folder.
        stem: Name of the files without an ending.
        title: Heading.
        parts: Paragraphs, tables and sections.
        rounds: Everything that was measured, for a JSON file beside the page.
    """
    when = f"Written by `benchmarks/run.py` on {time.strftime('%Y-%m-%d')}."
    text = "\n\n".join([f"# {title}", when, *parts])
    output.mkdir(parents=True, exist_ok=True)
    (output / f"{stem}.md").write_text(text + "\n", encoding="utf-8")
    if rounds is not None:
        raw = json.dumps(rounds, indent=1, ensure_ascii=False)
        (output / f"{stem}.json").write_text(raw + "\n", encoding="utf-8")
    Console().print(Markdown(text))

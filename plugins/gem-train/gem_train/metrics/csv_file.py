"""``metrics.csv``: one row per step, one column per metric; the first column is ``step``.

A metric may first appear at a later step, for example with the first evaluation. The whole file is
then rewritten, so that it is a table with one header at any time. A cell is empty if its step does
not have the metric.
"""

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gem_core.errors import DataError

__all__ = ["METRICS_FILE", "CsvWriter", "read_metrics"]

METRICS_FILE = "metrics.csv"
_STEP = "step"


class CsvWriter:
    """Writes ``metrics.csv``.

    Rows are also kept in memory: a row that could not be written is written with a later one.

    Args:
        folder: The run's folder.
        run_name: Not used.
        config: Not used.
        resume_step: Rows after this step are dropped; None for a new table.

    Raises:
        DataError: The existing file is not a table of steps.
    """

    def __init__(
        self, folder: Path, run_name: str, config: Mapping[str, Any], resume_step: int | None
    ) -> None:
        self._path = folder / METRICS_FILE
        self._columns = [_STEP]
        self._rows: list[list[str]] = []
        self._is_stale = True  # whether the whole file must be rewritten
        if resume_step is not None and self._path.is_file():
            self._columns, rows = _read_table(self._path)
            self._rows = [row for row in rows if int(row[0]) <= resume_step]
            self._write_all()

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Write the metrics of a step; further metrics of the same step are added to its row.

        Raises:
            OSError: The disk is full, for example. The row is kept and written at the next call.
        """
        known = len(self._columns)
        self._columns += [name for name in metrics if name not in self._columns[1:]]
        if known < len(self._columns):
            self._is_stale = True
        if self._rows and int(self._rows[-1][0]) == step:
            row = self._rows[-1]
            self._is_stale = True
        else:
            row = [str(step)]
            self._rows.append(row)
        row += [""] * (len(self._columns) - len(row))
        for column, name in enumerate(self._columns[1:], start=1):
            if name in metrics:
                row[column] = repr(metrics[name])
        self._write()

    def _write(self) -> None:
        if self._is_stale:
            self._write_all()
            return
        self._is_stale = True  # until the write has succeeded
        with self._path.open("a", encoding="utf-8", newline="") as file:
            file.write(_table([self._rows[-1]], len(self._columns)))
        self._is_stale = False

    def _write_all(self) -> None:
        fresh = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        try:
            text = _table([self._columns, *self._rows], len(self._columns))
            fresh.write_text(text, encoding="utf-8", newline="")
            fresh.replace(self._path)
        finally:
            fresh.unlink(missing_ok=True)
        self._is_stale = False

    def close(self) -> None:
        """Write pending rows.

        Raises:
            OSError: The disk is still full, for example.
        """
        if self._is_stale and self._rows:
            self._write_all()


def _table(rows: Iterable[Sequence[str]], columns: int) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([*row, *[""] * (columns - len(row))] for row in rows)
    return text.getvalue()


def read_metrics(path: Path) -> dict[str, tuple[list[int], list[float]]]:
    """Read a ``metrics.csv``.

    Args:
        path: The file. An incomplete last line, left by a crash, is ignored.

    Returns:
        For each metric, in the order of the columns: the steps that have it, and its values.

    Raises:
        DataError: The file is not a table of steps and numbers.
        OSError: The file cannot be read.
    """
    columns, rows = _read_table(path)
    found: dict[str, tuple[list[int], list[float]]] = {name: ([], []) for name in columns[1:]}
    for number, row in enumerate(rows, start=2):
        for name, cell in zip(columns[1:], row[1:], strict=True):
            if not cell:
                continue
            try:
                value = float(cell)
            except ValueError as error:
                message = f"{path}, row {number}: {name} is {cell!r}, not a number."
                raise DataError(message) from error
            found[name][0].append(int(row[0]))
            found[name][1].append(value)
    return found


def _read_table(path: Path) -> tuple[list[str], list[list[str]]]:
    text = path.read_bytes().decode("utf-8", "replace")
    if not text:
        return [_STEP], []
    rows = list(csv.reader(io.StringIO(text, newline="")))
    columns = rows.pop(0)
    if not text.endswith("\n") and rows:
        rows.pop()
    if columns[:1] != [_STEP] or len(set(columns)) < len(columns):
        raise DataError(
            f"{path} is not a table of metrics: its columns are {columns!r}. The first must be "
            f"{_STEP!r}, and no name may occur twice. Move the file, or choose another folder."
        )
    for number, row in enumerate(rows, start=2):
        if len(row) != len(columns) or not row[0].isascii() or not row[0].isdecimal():
            raise DataError(
                f"{path}, row {number}: expected {len(columns)} cells, the first of them a step; "
                f"got {row!r}. Repair the file, or move it."
            )
    return columns, rows

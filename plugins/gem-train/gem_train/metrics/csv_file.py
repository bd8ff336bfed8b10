"""Writes ``metrics.csv``; ``gem_rollout.records.step_metrics`` reads it.

A metric may first appear at a later step, for example with the first evaluation. The whole file is
then rewritten, so that it is a table with one header at any time.
"""

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gem_rollout.records.step_metrics import METRICS_FILE, STEP, read_table

__all__ = ["CsvWriter"]


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
        self._columns = [STEP]
        self._rows: list[list[str]] = []
        self._is_stale = True  # whether the whole file must be rewritten
        if resume_step is not None and self._path.is_file():
            self._columns, rows = read_table(self._path)
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

"""The figures of warm starts and runs, a JSON value on each line of two files."""

import contextlib
import importlib.metadata
import json
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from learning.cells import SWEEP, Cell, Run, runs_of

__all__ = ["Store", "append_line", "read_lines", "versions"]

_PACKAGES = ("torch", "transformers", "tokenizers", "numpy", "gem-core", "gem-rollout", "gem-train")


class Store:
    """The figures in a folder.

    Args:
        folder: The folder; it need not exist.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.warm: dict[tuple[str, int], dict[str, Any]] = {
            (one["family"], one["start"]): one for one in read_lines(folder / "warm_starts.jsonl")
        }
        """The warm starts by family and number."""
        self.runs: dict[Run, dict[str, Any]] = {
            Run(**{name: one[name] for name in Run._fields}): one
            for one in read_lines(folder / "runs.jsonl")
        }
        """The finished runs."""

    def add_warm_start(self, figures: dict[str, Any]) -> None:
        """Add a finished warm start, and the versions that made it."""
        figures = {**figures, "versions": versions()}
        self.warm[figures["family"], figures["start"]] = figures
        append_line(self.folder / "warm_starts.jsonl", figures)

    def add_run(self, figures: dict[str, Any]) -> None:
        """Add a finished run."""
        self.runs[Run(**{name: figures[name] for name in Run._fields})] = figures
        append_line(self.folder / "runs.jsonl", figures)

    def write_sorted(self, folder: Path) -> None:
        """Write everything to another folder, in an order that does not depend on the machine."""
        folder.mkdir(parents=True, exist_ok=True)
        _write(folder / "warm_starts.jsonl", (one for _, one in sorted(self.warm.items())))
        _write(folder / "runs.jsonl", (one for _, one in sorted(self.runs.items())))

    def of(self, cell: Cell) -> list[dict[str, Any]]:
        """Return the finished runs of a cell whose learning rate is known."""
        return [self.runs[run] for run in runs_of(cell) if run in self.runs]

    def rates(self) -> dict[str, float]:
        """Return the learning rate of each algorithm with the largest return in the sweep.

        Raises:
            ValueError: The sweep is not finished.
        """
        best: dict[str, tuple[float, float]] = {}
        for cell in SWEEP:
            runs = self.of(cell)
            if len(runs) < cell.starts or cell.lr is None:
                raise ValueError(f"The sweep of learning rates lacks runs of {cell.label}.")
            score = sum(one["plays"][cell.task]["return"] for one in runs) / len(runs)
            best[cell.algo] = max(best.get(cell.algo, (float("-inf"), 0.0)), (score, cell.lr))
        return {algo: lr for algo, (_, lr) in best.items()}


def versions() -> dict[str, str]:
    """Return the versions of Python and of the installed packages that figures may depend on."""
    found: dict[str, str] = {}
    for name in _PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return {"python": platform.python_version(), "machine": platform.machine(), **found}


def read_lines(path: Path) -> Iterable[Any]:
    """Yield the values of a file with a JSON value on each line; none if there is no file."""
    if path.is_file():
        yield from map(json.loads, path.read_text(encoding="utf-8").splitlines())


def append_line(path: Path, value: Any) -> None:
    """Add a value as a line of JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(value) + "\n")


def _write(path: Path, values: Iterable[Any]) -> None:
    path.write_text("".join(json.dumps(one) + "\n" for one in values), encoding="utf-8")

"""Figures of cells with their intervals, as pages show them."""

from collections.abc import Callable, Mapping
from typing import Any

from learning.cells import CELLS, Cell, with_rates
from learning.intervals import Interval, difference, over_warm_starts
from learning.store import Store

__all__ = ["Figures", "said", "signed"]

Run = Mapping[str, Any]


class Figures:
    """The figures of all cells that have runs.

    Args:
        store: The figures of the runs.

    Raises:
        ValueError: The sweep is not finished.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.rates = store.rates()
        self.cells = {
            (cell.study, cell.label): cell
            for cell in with_rates(CELLS, self.rates)
            if store.of(cell)
        }

    def of(self, study: str) -> list[Cell]:
        """Return the cells of a study."""
        return [cell for cell in self.cells.values() if cell.study == study]

    def played(self, cell: Cell, task: str) -> list[Run]:
        """Return the runs of a cell that played a task at the end."""
        return [run for run in self.store.of(cell) if task in run["plays"]]

    def before(self, cell: Cell, task: str, measure: str) -> Interval:
        """Return a measure of the warm starts."""
        return over_warm_starts(self.played(cell, task), self._before(task, measure))

    def after(self, cell: Cell, task: str, measure: str) -> Interval:
        """Return a measure of the trained models."""
        return over_warm_starts(self.played(cell, task), _after(task, measure))

    def gain(self, cell: Cell, task: str, measure: str) -> Interval:
        """Return what training adds to a measure."""
        before, after = self._before(task, measure), _after(task, measure)
        return over_warm_starts(self.played(cell, task), lambda run: after(run) - before(run))

    def less(self, cell: Cell, other: Cell, measure: str) -> Interval | None:
        """Return a cell's measure less that of another; None without a common seed."""
        runs = [(run, run["plays"][cell.task][measure]) for run in self.store.of(cell)]
        others = [(run, run["plays"][other.task][measure]) for run in self.store.of(other)]
        try:
            return difference(
                [{**run, "value": value} for run, value in runs],
                [{**run, "value": value} for run, value in others],
                lambda run: float(run["value"]),
            )
        except ValueError:
            return None

    def _before(self, task: str, measure: str) -> Callable[[Run], float]:
        def value(run: Run) -> float:
            return float(self.store.warm[run["family"], run["start"]]["plays"][task][measure])

        return value


def _after(task: str, measure: str) -> Callable[[Run], float]:
    return lambda run: float(run["plays"][task][measure])


def said(one: Interval, digits: int = 2) -> str:
    """Return ``0.50 ± 0.10``, or the mean alone if there is no interval."""
    if one.starts < 2:
        return f"{one.mean:.{digits}f}"
    return f"{one.mean:.{digits}f} ± {one.half:.{digits}f}"


def signed(one: Interval, digits: int = 2) -> str:
    """Return ``+0.50 ± 0.10``."""
    sign = f"{one.mean:+.{digits}f}"
    return sign if one.starts < 2 else f"{sign} ± {one.half:.{digits}f}"

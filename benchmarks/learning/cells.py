"""The cells of the studies: which algorithm learns which task, from which warm starts and seeds."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

__all__ = [
    "ALGORITHMS",
    "CELLS",
    "CI_CELL",
    "RATES",
    "SWEEP",
    "Cell",
    "Run",
    "runs_of",
    "with_rates",
]

STEPS = 24
"""Steps of a run."""
RATES = (1e-3, 3e-3, 1e-2)
"""The learning rates to choose from."""
SWEEP_SEED = 100
"""The seed of the sweep, which no other cell uses: the choice does not favour a published seed."""


class Run(NamedTuple):
    """One training; cells of several studies may share it.

    Args:
        family: Warm starts that it begins with.
        start: Number of the warm start, which is its seed.
        task: Name of the task that it learns.
        algo: The algorithm and its parameters as JSON.
        lr: Learning rate.
        offset: Constant that is added to every return.
        steps: Number of steps.
        seed: Seed of the run.
    """

    family: str
    start: int
    task: str
    algo: str
    lr: float
    offset: float
    steps: int
    seed: int


@dataclass(frozen=True)
class Cell:
    """Runs that differ in warm start and seed only.

    Args:
        study: The comparison that it belongs to.
        label: Its name in tables and plots.
        family: Warm starts that its runs begin with.
        task: The task that it learns.
        algo: Name of the algorithm, see ``ALGORITHMS``.
        parameters: Parameters of the algorithm that differ from those in ``ALGORITHMS``.
        starts: Number of warm starts.
        seeds: Seeds of the runs from each warm start.
        lr: Learning rate; None for the one that the sweep chose for the algorithm.
        offset: Constant that is added to every return.
        tests: Further tasks that the trained models play.
        steps: Number of steps.
        share: Share of the other cells' runs that come before the first run.
    """

    study: str
    label: str
    family: str
    task: str
    algo: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    starts: int = 3
    seeds: tuple[int, ...] = (0, 1)
    lr: float | None = None
    offset: float = 0.0
    tests: tuple[str, ...] = ()
    steps: int = STEPS
    share: float = 0.0

    @property
    def config(self) -> dict[str, Any]:
        """The configuration of the algorithm."""
        return {**ALGORITHMS[self.algo], **self.parameters}


ALGORITHMS: dict[str, dict[str, Any]] = {
    "reinforce": {"id": "reinforce", "gamma": 0.9},
    "rebn": {"id": "rebn", "gamma": 0.9},
    "grpo": {"id": "grpo"},
    "ppo": {"id": "ppo", "gamma": 0.9, "gae_lambda": 0.95},
}

_FIVE = (0, 1, 2, 3, 4)
_TESTS = ("guess-hard", "reverse")

SWEEP = [
    Cell("sweep", f"{algo} {lr:g}", "games", "guess", algo, lr=lr, starts=1, seeds=(SWEEP_SEED,))
    for algo in ALGORITHMS
    for lr in RATES
]
"""The sweep that chooses learning rates, which comes first."""

CELLS = [
    *(
        Cell("guess", algo, "games", "guess", algo, seeds=_FIVE, tests=_TESTS * (algo == "rebn"))
        for algo in ALGORITHMS
    ),
    *(
        Cell("offset", f"{algo} {offset:+g}", "games", "guess", algo, offset=offset)
        for algo in ("rebn", "reinforce")
        for offset in (0.0, -1.0, 1.0)
    ),
    *(
        Cell("gamma", f"gamma {gamma:g}", "games", "guess-long", "rebn", {"gamma": gamma})
        for gamma in (0.5, 0.9, 1.0)
    ),
    *(Cell("reverse", algo, "letters", "reverse", algo) for algo in ALGORITHMS),
    *(
        Cell("tool", label, "tools", task, "rebn")
        for label, task in (("no tool", "multiply"), ("with Python", "multiply-python"))
    ),
    *(
        Cell("rates", f"{algo} {lr:g}", "games", "guess", algo, lr=lr, seeds=(0,), share=0.9)
        for algo in ALGORITHMS
        for lr in RATES
    ),
    Cell("transfer", "from guess", "games", "guess", "rebn", seeds=_FIVE, tests=_TESTS),
    Cell("transfer", "from reverse", "games", "reverse", "rebn", tests=("guess", "guess-hard")),
]

CI_CELL = next(one for one in CELLS if one.study == "reverse" and one.label == "rebn")
"""The cell that a test makes again."""


def with_rates(cells: list[Cell], rates: Mapping[str, float]) -> list[Cell]:
    """Return the cells with the learning rates that were chosen for their algorithms."""
    return [replace(one, lr=rates[one.algo]) if one.lr is None else one for one in cells]


def runs_of(cell: Cell) -> Iterator[Run]:
    """Yield the runs of a cell, seed by seed.

    Raises:
        ValueError: The learning rate is not known.
    """
    if cell.lr is None:
        raise ValueError(f"{cell.study} {cell.label} has no learning rate yet.")
    algo = json.dumps(cell.config, sort_keys=True)
    for seed in cell.seeds:
        for start in range(cell.starts):
            yield Run(cell.family, start, cell.task, algo, cell.lr, cell.offset, cell.steps, seed)

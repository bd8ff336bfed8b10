"""Studies of learning on a CPU: algorithms, reward offsets, discounts, transfer and a tool.

Each cell trains tiny models from several warm starts with several seeds, and plays held-out start
states at the end. A sweep comes first and chooses the learning rate of each algorithm. Finished
warm starts and runs are kept in the folder of runs and are not repeated. Tables, plots and the
figures of all runs go to benchmarks/learning/results, and what they say to
docs/training/curves.md and details.md beside them; with another --output, all go there.

Examples:
  python benchmarks/run.py learning                    everything, resumable
  python benchmarks/run.py learning --jobs 8           with eight processes
  python benchmarks/run.py learning --only guess       the sweep and one study
  python benchmarks/run.py learning --report-only      the page from the committed figures
"""

import argparse
import os
from pathlib import Path

from learning.cells import CELLS
from learning.figures import Figures
from learning.page import curves_page, details_page
from learning.report import write_report
from learning.store import Store

__all__ = ["add_arguments", "run"]

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parents[2] / "docs" / "training" / "curves.md"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this suite."""
    studies = list(dict.fromkeys(cell.study for cell in CELLS))
    parser.set_defaults(output=RESULTS)
    parser.add_argument("--only", action="append", choices=studies, help="may be repeated")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="parallel runs")
    parser.add_argument("--runs", type=Path, default=Path("runs/learning"), help="folder of runs")
    parser.add_argument(
        "--report-only", action="store_true", help="write the page from the figures in --output"
    )


def run(options: argparse.Namespace) -> None:
    """Make the missing runs and the page."""
    if not options.report_only:
        from learning.schedule import make_all  # noqa: PLC0415 - needs torch

        make_all(options.runs, options.output, only=options.only, jobs=options.jobs)
    figures = Figures(Store(options.output))
    print(write_report(figures))
    page = PAGE if options.output == RESULTS else options.output / PAGE.name
    page.write_text(curves_page(figures), encoding="utf-8")
    (options.output / "details.md").write_text(details_page(figures), encoding="utf-8")

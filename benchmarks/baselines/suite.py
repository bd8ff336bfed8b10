"""Baselines of the suite ``baselines``: agents without a model, tiny models, and a real one.

The agents silent, random, oracle and the best constant answer play every environment, with five
seeds each; tiny models are made, warmed up on demonstrations and trained with ReBN in some of them,
with three. What is done is kept in the folder of runs and is not repeated. The figures go to
benchmarks/results/baselines.json, and the pages that are made of them to docs/baselines.md and
benchmarks/results/baselines-details.md; with another --output, all go there. Rows of a real model
are added one environment after the other.

Examples:
  python benchmarks/run.py baselines                     everything but real models, resumable
  python benchmarks/run.py baselines --only scripted     without training, which needs torch
  python benchmarks/run.py baselines --report-only       the pages from the committed figures
  python benchmarks/run.py baselines --real smollm2      a real model, resumable by environment
  python benchmarks/run.py baselines --real runs/sft/model --as 'smollm2, supervised' --env rg:gcd
"""

import argparse
import os
from pathlib import Path

from learning.plots import plot_grid

from baselines.figures import Figures
from baselines.page import DETAILS, PICTURE, baselines_page, details_page
from baselines.real import FILE as REAL
from baselines.real import play_real

__all__ = ["add_arguments", "run"]

RESULTS = Path(__file__).parents[1] / "results"
PAGE = Path(__file__).parents[2] / "docs" / "baselines.md"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this suite."""
    parser.add_argument("--only", choices=("scripted", "trained"), help="one part of it")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="parallel cells")
    parser.add_argument("--runs", type=Path, default=Path("runs/baselines"), help="folder of runs")
    parser.add_argument("--real", metavar="MODEL", help="only play this model of transformers")
    parser.add_argument("--as", dest="name", help="its name on the page")
    parser.add_argument("--env", action="append", help="with --real; may be repeated")
    parser.add_argument(
        "--report-only", action="store_true", help="write the page from the figures in --output"
    )


def run(options: argparse.Namespace) -> None:
    """Make the missing cells and the page."""
    if options.real:
        envs = options.env or Figures.read(options.output).cheapest
        play_real(options.real, options.name or options.real, envs, options.output / REAL)
    elif not options.report_only:
        from baselines.schedule import make_all  # noqa: PLC0415 - needs torch

        make_all(options.runs, options.output, only=options.only, jobs=options.jobs)
    figures = Figures.read(options.output)
    page = PAGE if options.output == RESULTS else options.output / PAGE.name
    page.write_text(baselines_page(figures), encoding="utf-8")
    (options.output / DETAILS).write_text(details_page(figures), encoding="utf-8")
    if figures.trained:
        picture = page.parent / PICTURE
        picture.parent.mkdir(exist_ok=True)
        curves = {task: figures.curves(task) for task in figures.trained}
        plot_grid(curves, "success", picture)
    print(f"Written: {page}")

"""A pretrained language model before and after training, in tasks that it was not trained in too.

The model plays as it is, after a supervised start, and after reinforcement learning, always the
same tasks. A unit is one environment, one algorithm and one seed. Units that are done are not run
again, and one that was stopped goes on. A unit takes about seven minutes on one GPU; without a GPU
the supervised start is whole, and reinforcement learning is two small steps that only show that it
runs. The figures go to benchmarks/results/real_model, one file for each unit, and the page that is
made of them to docs/real-model.md; with another --output, both go there.

Examples:
  python benchmarks/run.py real-model                         one seed of ReBN
  python benchmarks/run.py real-model --seeds 3 --algos rebn grpo
  python benchmarks/run.py real-model --units 1 --minutes 8   stops in time, and goes on later
  python benchmarks/run.py real-model --report-only           the page from the committed figures
"""

import argparse
import json
import sys
import time
from pathlib import Path

from real_model.commands import Command, Deadline, commands
from real_model.page import PICTURE, page, picture
from real_model.units import ALGORITHMS, FRACTION, TASKS, WHOLE, Sizes, Unit, units

__all__ = ["add_arguments", "run"]

RESULTS = Path(__file__).parents[1] / "results"
PAGE = Path(__file__).parents[2] / "docs" / "real-model.md"
_MINUTE = 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this suite."""
    parser.add_argument("--model", default="smollm2", help="an id, a folder or a name on the hub")
    parser.add_argument("--seeds", type=int, default=1, help="seeds of each algorithm (1)")
    parser.add_argument("--algos", nargs="+", choices=ALGORITHMS, default=ALGORITHMS[:1])
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS)[:1])
    parser.add_argument("--units", type=int, help="run at most so many that are not done yet")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so many")
    parser.add_argument("--device", choices=("auto", "cuda", "cpu"), default="auto")
    parser.add_argument("--runs", type=Path, default=Path("runs/real-model"), help="folder of runs")
    parser.add_argument(
        "--report-only", action="store_true", help="write the page from the figures in --output"
    )


def run(options: argparse.Namespace) -> None:
    """Run the units that are not done, and write the page."""
    results = options.output / "real_model"
    if not options.report_only and not _run_all(options, results):
        print("Stopped: the same command goes on.", file=sys.stderr)
        sys.exit(3)
    found = [
        json.loads(file.read_text(encoding="utf-8")) for file in sorted(results.glob("*.json"))
    ]
    where = PAGE if options.output.resolve() == RESULTS.resolve() else options.output / PAGE.name
    image = where.parent / PICTURE
    image.parent.mkdir(parents=True, exist_ok=True)
    where.write_text(page(found), encoding="utf-8")
    picture(found, image)
    print(f"Written: {where}")


def _run_all(options: argparse.Namespace, results: Path) -> bool:
    """Run the units that are not done; return whether there was time for all of them."""
    import torch  # noqa: PLC0415 - not needed for the page

    cuda = options.device != "cpu" and torch.cuda.is_available()
    sizes, device = (WHOLE, "cuda") if cuda else (FRACTION, "cpu")
    deadline = Deadline(time.monotonic() + options.minutes * _MINUTE)
    wanted = units(options.tasks, options.algos, options.seeds)
    missing = []
    for unit in wanted:
        if _is_done(file := _file(results, device, unit), options.model):
            print(f"{file} is there already: {unit.name} is not run again.", file=sys.stderr)
        else:
            missing.append(unit)
    for unit in missing[: options.units]:
        print(f"== {unit.name} on {device}", file=sys.stderr)
        if not _run_unit(unit, sizes, device, deadline, options, results):
            return False
    return True


def _run_unit(
    unit: Unit,
    sizes: Sizes,
    device: str,
    deadline: Deadline,
    options: argparse.Namespace,
    results: Path,
) -> bool:
    from real_model.figures import figures_of  # noqa: PLC0415 - needs torch

    done: dict[str, Command] = {}
    folder = options.runs.resolve() / device
    for stage, command in commands(unit, sizes, options.model, device, folder):
        if not command.run(deadline):
            return False
        done[stage] = command
    results.mkdir(parents=True, exist_ok=True)
    figures = figures_of(unit, sizes, options.model, done)
    file = _file(results, device, unit)
    file.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return True


def _is_done(file: Path, model: str) -> bool:
    return file.exists() and json.loads(file.read_text(encoding="utf-8"))["model"] == model


def _file(results: Path, device: str, unit: Unit) -> Path:
    return results / f"{device}-{unit.name}.json"

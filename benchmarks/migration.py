"""Runs one script of gem-llm's users with gem-compat and with gem-llm, side by side.

Each measurement is a process of its own; a round takes all of them on both sides, one right after
the other and in turns first. gem-llm is installed once, into an environment of its own, and nothing
is downloaded while the clock runs. It writes ``results/migration.md`` and ``.json``.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from peer import PeerError, find_or_install, write_words
from processes import offline, start, stop
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

_HERE = Path(__file__).resolve().parent
SIDES = ("gem-compat", "gem-llm")
_GAMES = (
    "GuessTheNumber-v0-hard",
    "Mastermind-v0-hard",
    "Wordle-v0-hard",
    "Minesweeper-v0-easy",
    "Game2048-v0-easy",
    "Sokoban-v0-easy",
)


@dataclass(frozen=True)
class Line:
    """A measurement.

    Args:
        title: How the table calls it.
        measure: The script's function, and its argument.
        figure: Which of its figures.
        unit: Of the figure.
        lower_is_better: Whether less is better.
        ratio: Whether the ratio of the sides means something.
    """

    title: str
    measure: tuple[str, ...]
    figure: str = "per_second"
    unit: str = "/s"
    lower_is_better: bool = False
    ratio: bool = True


LINES = (
    Line("import and make a game, s", ("startup",), "seconds", "", lower_is_better=True),
    Line("modules that this imports", ("startup",), "modules", "", lower_is_better=True),
    *(Line(f"random play of game:{game}, steps", ("loop", f"game:{game}")) for game in _GAMES),
    Line("50 turns under concat_with_action, steps", ("history", "concat_with_action")),
    Line("50 turns under concat,episode_tracking, steps", ("history", "concat,episode_tracking")),
    Line("64 environments, one thread, steps", ("vector", "serial")),
    Line("64 environments, threads, steps", ("vector", "threads")),
    Line(
        "levels that a seed repeats in a vector, of 8",
        ("seeds", "game:Sokoban-v0-easy"),
        "alike",
        "",
        ratio=False,
    ),
    Line("Python tool, programs", ("tool", "print(sum(range(100)))")),
    Line("grading, the same text, answers", ("grading", "42~42")),
    Line("grading, an equal value, answers", ("grading", r"0.5~\frac{1}{2}")),
    Line("grading, a wrong answer, answers", ("grading", r"\frac{2}{3}~\frac{1}{2}")),
)


def main() -> None:
    """Run the comparison that the command line asks for."""
    options = _parse()
    try:
        peer = options.peer_python or str(find_or_install())
    except PeerError as error:
        sys.exit(str(error))
    pythons = dict(zip(SIDES, (sys.executable, peer), strict=True))
    with tempfile.TemporaryDirectory() as words:
        write_words(Path(words))
        results, errors = _measure(pythons, offline(Path(words)), options)
    rows = [_row(line, results) for line in LINES]
    text = _markdown(rows, errors, options.rounds)
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "migration.md").write_text(text)
    (options.output / "migration.json").write_text(json.dumps(results, indent=1) + "\n")
    table = Table("", *SIDES, "ratio")
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one measurement")
    parser.add_argument(
        "--peer-python",
        metavar="PATH",
        default=os.environ.get("GEM_LLM_PYTHON"),
        help="interpreter that has gem-llm 0.1.0; default: $GEM_LLM_PYTHON, else it is installed",
    )
    parser.add_argument("--output", type=Path, default=_HERE / "results", metavar="FOLDER")
    return parser.parse_args()


Results = dict[str, dict[str, list[dict[str, float]]]]
"""By measurement and side, the figures of each round."""


def _measure(
    pythons: Mapping[str, str], environ: Mapping[str, str], options: argparse.Namespace
) -> tuple[Results, dict[str, str]]:
    """Return the figures, and why a side has none."""
    measures = list(dict.fromkeys(line.measure for line in LINES))
    results: Results = {" ".join(one): {side: [] for side in SIDES} for one in measures}
    errors: dict[str, str] = {}
    with Progress(transient=True) as progress:
        work = [(number, one) for number in range(options.rounds) for one in measures]
        for number, measure in progress.track(work, description="Measuring"):
            for side in SIDES if number % 2 == 0 else SIDES[::-1]:
                key = f"{side}, {' '.join(measure)}"
                if key in errors:
                    continue
                try:
                    found = _run(pythons[side], measure, environ, options.timeout)
                    results[" ".join(measure)][side].append(found)
                except RuntimeError as error:
                    errors[key] = str(error)
    return results, errors


def _run(
    python: str, measure: Sequence[str], environ: Mapping[str, str], timeout: float
) -> dict[str, float]:
    process = start(
        [python, str(_HERE / "migration_script.py"), *measure], environ, stderr=subprocess.PIPE
    )
    try:
        output, said = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"no result within {timeout:g} s") from None
    finally:
        stop(process)
    if process.returncode:
        raise RuntimeError((said.strip().splitlines() or ["it died"])[-1])
    found: dict[str, float] = json.loads(output.strip().splitlines()[-1])
    return found


def _row(line: Line, results: Results) -> tuple[str, str, str, str]:
    sides = results[" ".join(line.measure)]
    figures = [[one[line.figure] for one in sides[side]] for side in SIDES]
    shown = [f"{statistics.median(one):,.4g}{line.unit}" if one else "-" for one in figures]
    above, below = figures[::-1] if line.lower_is_better else figures
    ratios = [a / b for a, b in zip(above, below, strict=False) if b]
    ratio = f"{statistics.median(ratios):.3g}x" if ratios and line.ratio else ""
    return line.title, shown[0], shown[1], ratio


def _markdown(rows: Sequence[Sequence[str]], errors: Mapping[str, str], rounds: int) -> str:
    about = (
        f"`python benchmarks/migration.py`, rounds: {rounds}, Python {platform.python_version()}, "
        f"{os.cpu_count()} CPUs. Medians, and medians of the rounds' ratios; above 1 is better for "
        f"gem-compat. Other load on the machine moves single figures by tens of percent."
    )
    lines = [
        "# The same script with gem-compat and with gem-llm 0.1.0",
        "",
        about,
        "",
        f"| | {' | '.join(SIDES)} | ratio |",
        "|---|---:|---:|---:|",
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
        *(f"No figures of {key}: {why}" for key, why in errors.items()),
    ]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    main()

"""Compares gem-core with gem-llm 0.1.0, side by side on this machine.

Each measurement is a process of its own. One round takes every measurement on both sides, one
right after the other and in turns first; the ratio of a round compares what ran under the same
load, and the tables show medians over the rounds. gem-llm is installed once, into an environment
of its own beside the checkout, and nothing is downloaded while the clock runs.
"""

import argparse
import fnmatch
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cases import groups
from peer import PeerError, find_or_install, write_words
from processes import offline, start, stop
from report import Row, as_markdown, print_tables, rows_of, verdict
from rich.console import Console
from rich.progress import Progress
from schema import SIDES, Group

_HERE = Path(__file__).resolve().parent
_GROUP_NAMES = [group.name for group in groups([], quick=True)]
_READING = (
    "Medians of values and of the rounds' ratios; a ratio above 1 is better for gem-core. "
    "Other load on the machine moves single figures by tens of percent, ratios by less."
)
_EXAMPLES = """\
examples:
  python benchmarks/compare.py                           everything, about 35 minutes
  python benchmarks/compare.py --quick                   two short rounds, the easy games
  python benchmarks/compare.py --only startup --only vector
  python benchmarks/compare.py --only games --ids 'game:Sokoban*' --rounds 5
  python benchmarks/compare.py --peer-python ~/gem/bin/python
"""


class Bench:
    """Runs measurements in processes of both interpreters.

    Args:
        pythons: Interpreter of each side.
        words: Folder of the words for gem-llm.
        timeout: Seconds after which a measurement is given up.
    """

    def __init__(self, pythons: Mapping[str, str], words: Path, timeout: float) -> None:
        self._pythons = pythons
        self._timeout = timeout
        self._environ = offline(words)
        self.errors: dict[tuple[str, str, str], str] = {}
        """Why a side has no figures, by group, case and side."""

    def run(self, side: str, measure: str, arguments: Mapping[str, Any]) -> Any:
        """Return what a measurement returns.

        Raises:
            RuntimeError: It failed or took too long; the message is its last word.
        """
        command = [self._pythons[side], str(_HERE / "worker.py"), side, measure]
        command += [f"{name}={value}" for name, value in arguments.items()]
        process = start(command, self._environ, stderr=subprocess.PIPE)
        try:
            result, errors = process.communicate(timeout=self._timeout)
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"no result within {self._timeout:g} s") from None
        finally:
            stop(process)
        if process.returncode:
            raise RuntimeError((errors.strip().splitlines() or ["it died"])[-1])
        return json.loads(result)

    def run_round(self, group: Group, number: int, results: dict[str, Any]) -> None:
        """Take one round of a group; a case that failed once on one side is left out."""
        for case in group.cases:
            figures = results.setdefault(case.title, {side: [] for side in SIDES})
            own = dict(zip(SIDES, (case.ours, case.peer), strict=True))
            for side in SIDES if number % 2 == 0 else SIDES[::-1]:
                key = (group.name, case.title, side)
                if key in self.errors:
                    continue
                try:
                    figures[side].append(
                        self.run(side, group.measure, {**case.arguments, **own[side]})
                    )
                except RuntimeError as error:
                    self.errors[key] = str(error)


def main() -> None:
    """Run the comparison that the command line asks for."""
    options = _parse()
    console = Console()
    try:
        peer_python = options.peer_python or str(find_or_install())
    except PeerError as error:
        sys.exit(str(error))
    with tempfile.TemporaryDirectory() as words:
        write_words(Path(words))
        pythons = dict(zip(SIDES, (sys.executable, peer_python), strict=True))
        bench = Bench(pythons, Path(words), options.timeout)
        about = {side: bench.run(side, "about", {}) for side in SIDES}
        chosen = _choose(options, about)
        results = _measure(bench, chosen, options.rounds)
    rows = {group.name: rows_of(group, results[group.name]) for group in chosen}
    notes = _notes(options, about, bench, rows)
    _write(options, chosen, rows, results, notes)
    for group in chosen:
        print_tables(console, group, rows[group.name])
    console.print("\n" + "\n".join(notes), highlight=False)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="two short rounds, the easy games")
    parser.add_argument(
        "--only", action="append", choices=_GROUP_NAMES, help="only this group; may be repeated"
    )
    parser.add_argument("--ids", default="*", metavar="PATTERN", help="only these games")
    parser.add_argument("--rounds", type=int, help="default: 3, with --quick 2")
    parser.add_argument("--timeout", type=float, default=240, help="seconds for one measurement")
    parser.add_argument(
        "--peer-python",
        metavar="PATH",
        default=os.environ.get("GEM_LLM_PYTHON"),
        help="interpreter that has gem-llm 0.1.0; default: $GEM_LLM_PYTHON, else it is installed",
    )
    parser.add_argument("--output", type=Path, default=_HERE / "results", metavar="FOLDER")
    options = parser.parse_args()
    options.rounds = options.rounds or (2 if options.quick else 3)
    return options


def _choose(options: argparse.Namespace, about: Mapping[str, Any]) -> list[Group]:
    common = [env_id for env_id in about[SIDES[0]]["ids"] if env_id in about[SIDES[1]]["ids"]]
    ids = [
        env_id
        for env_id in fnmatch.filter(common, options.ids)
        if env_id.endswith("-easy") or not options.quick
    ]
    found = groups(ids, quick=options.quick)
    return [group for group in found if not options.only or group.name in options.only]


def _measure(bench: Bench, chosen: Sequence[Group], rounds: int) -> dict[str, dict[str, Any]]:
    results: dict[str, dict[str, Any]] = {group.name: {} for group in chosen}
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=rounds * len(chosen))
        for number in range(rounds):
            for group in chosen:
                progress.update(task, description=f"round {number + 1}, {group.name}")
                if number == 0 or not group.once:
                    bench.run_round(group, number, results[group.name])
                progress.advance(task)
    return results


def _notes(
    options: argparse.Namespace,
    about: Mapping[str, Any],
    bench: Bench,
    rows: Mapping[str, Sequence[Row]],
) -> list[str]:
    ours, peer = (about[side] for side in SIDES)
    setting = (
        f"gem-core {ours['version']} on Python {ours['python']}, gem-llm {peer['version']} on "
        f"Python {peer['python']}; {os.cpu_count()} CPUs, {platform.platform()}; "
        f"{options.rounds} rounds{', quick' if options.quick else ''}; "
        f"load average at the end {os.getloadavg()[0]:.1f}."
    )
    notes = [setting, _READING, verdict([row for of_group in rows.values() for row in of_group])]
    notes += _failures(bench.errors)
    only_peer = sorted(set(peer["ids"]) - set(ours["ids"]))
    if only_peer:
        notes.append(f"Only gem-llm has: {', '.join(only_peer)}.")
    return notes


def _failures(errors: Mapping[tuple[str, str, str], str]) -> list[str]:
    """Return one line for each reason for which something was not measured."""
    cases: dict[str, list[str]] = {}
    for (group, case, side), why in errors.items():
        cases.setdefault(f"{side}: {why}", []).append(f"{case} ({group})")
    return [f"Not measured, {why}: {', '.join(which)}." for why, which in cases.items()]


def _write(
    options: argparse.Namespace,
    chosen: Sequence[Group],
    rows: Mapping[str, Sequence[Row]],
    results: Mapping[str, Any],
    notes: Sequence[str],
) -> None:
    """Write the tables and everything measured; a partial run has a name of its own."""
    options.output.mkdir(parents=True, exist_ok=True)
    stem = "-".join(["compare", *(["quick"] if options.quick else []), *(options.only or [])])
    text = "\n\n".join(
        [
            "# gem-core and gem-llm side by side",
            f"Written by `benchmarks/compare.py` on {time.strftime('%Y-%m-%d')}.",
            *notes,
            *(as_markdown(group, rows[group.name]) for group in chosen),
        ]
    )
    (options.output / f"{stem}.md").write_text(text + "\n")
    raw = {
        "notes": notes,
        "rows": {name: [asdict(row) for row in of_group] for name, of_group in rows.items()},
        "rounds": results,
    }
    (options.output / f"{stem}.json").write_text(json.dumps(raw, indent=1) + "\n")


if __name__ == "__main__":
    main()

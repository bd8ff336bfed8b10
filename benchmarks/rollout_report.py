"""From rounds of rollouts to tables and targets, as Markdown."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple

__all__ = ["Results", "Target", "document", "targets_of"]

_OWN, _LIMIT = "gem-core", "bare aiohttp"
_FIGURES = (
    ("turns_per_s", "turns/s"),
    ("cpu_ms", "CPU ms a turn"),
    ("utilisation", "utilisation: ideal time / real time"),
)


@dataclass
class Results:
    """Figures of each round, by scenario, engine and column (episodes at once)."""

    rounds: dict[str, dict[str, dict[str, list[dict[str, float]]]]] = field(default_factory=dict)

    def add(self, scenario: str, engine: str, column: str, figures: dict[str, float]) -> None:
        """Add what was measured in a round."""
        by_engine = self.rounds.setdefault(scenario, {})
        by_engine.setdefault(engine, {}).setdefault(column, []).append(figures)

    def of(self, scenario: str, engine: str, column: str, figure: str) -> list[float]:
        """Return a figure of all rounds."""
        rounds = self.rounds.get(scenario, {}).get(engine, {}).get(column, [])
        return [one[figure] for one in rounds]

    def median(self, scenario: str, engine: str, column: str, figure: str) -> float | None:
        """Return the median of a figure; None if it was not measured."""
        values = self.of(scenario, engine, column, figure)
        return median(values) if values else None

    def ratio(self, scenario: str, column: str, figure: str) -> float | None:
        """Return the median of the rounds' ratios of gem-core to the bare loop of aiohttp."""
        pair = (self.of(scenario, engine, column, figure) for engine in (_OWN, _LIMIT))
        values = [ours / limit for ours, limit in zip(*pair, strict=False) if limit]
        return median(values) if values else None

    def columns(self, scenario: str) -> list[str]:
        """Return the columns of a scenario."""
        found = [column for one in self.rounds.get(scenario, {}).values() for column in one]
        return list(dict.fromkeys(found))


class Target(NamedTuple):
    """A target and what was measured.

    Args:
        title: What is measured.
        value: What was measured.
        bound: What reaches the target.
        is_least: The target is the least that will do, not the most.
    """

    title: str
    value: float
    bound: float
    is_least: bool

    @property
    def reached(self) -> bool:
        """Whether it is reached."""
        return self.value >= self.bound if self.is_least else self.value <= self.bound


def targets_of(results: Results) -> list[Target]:
    """Return the targets of gem-core of which something was measured."""

    def own(scenario: str, column: str, figure: str) -> float | None:
        return results.median(scenario, _OWN, column, figure)

    found: list[tuple[str, float | None, float, bool]] = []
    for column in ("64", "512"):
        at_once = f"1 turn, 0 ms, {column} at once"
        found += [
            (f"turns/s, {at_once}", own("0ms", column, "turns_per_s"), 3000, True),
            (f"CPU ms a turn, {at_once}", own("0ms", column, "cpu_ms"), 0.3, False),
        ]
    found += [
        (
            "turns/s beside the bare aiohttp loop, 1 to 7 turns, 20 ms, 64 at once",
            results.ratio("20ms", "64", "turns_per_s"),
            0.8,
            True,
        ),
        (
            "utilisation beside the bare aiohttp loop's, heavy tail, 64 at once",
            results.ratio("tail", "64", "utilisation"),
            0.95,
            True,
        ),
        ("episodes lost at 2 % faults", own("faults", "", "lost"), 0, False),
        ("% of the finished episodes redone after kill -9", _redone(results, _OWN), 2, False),
        ("episodes lost after kill -9", own("kill", "", "lost"), 0, False),
        ("seconds of `gem-core eval` of one episode", own("eval", "", "seconds"), 1.5, False),
    ]
    return [
        Target(title, value, bound, is_least)
        for title, value, bound, is_least in found
        if value is not None
    ]


def _redone(results: Results, engine: str) -> float | None:
    pair = (results.of("kill", engine, "", figure) for figure in ("redone", "finished"))
    shares = [100 * redone / finished for redone, finished in zip(*pair, strict=True)]
    return median(shares) if shares else None


def document(results: Results, titles: Mapping[str, str], notes: Sequence[str]) -> str:
    """Return all tables as Markdown.

    Args:
        results: What was measured.
        titles: Titles of the scenarios in which engines were looked at.
        notes: Paragraphs for the beginning.
    """
    targets = targets_of(results)
    missed = sum(not target.reached for target in targets)
    parts = [*notes, f"{len(targets) - missed} of {len(targets)} targets reached."]
    if targets:
        cells = [
            (
                one.title,
                _number(one.value),
                f"{'≥' if one.is_least else '≤'} {one.bound:g}",
                "yes" if one.reached else "NO",
            )
            for one in targets
        ]
        parts += ["## Targets", _table(("", "gem-core", "target", "reached"), cells)]
    for scenario, title in titles.items():
        if scenario in results.rounds:
            parts += [f"## {title}", *_looks(results, scenario)]
    if results.rounds.get("faults"):
        parts += ["## 2 % of the calls go wrong", _faults(results)]
    if results.rounds.get("kill"):
        parts += ["## Killed half way with kill -9, and started again", _kills(results)]
    return "\n\n".join(parts) + "\n"


def _looks(results: Results, scenario: str) -> list[str]:
    """Return the tables of a scenario: engines and episodes at once."""
    columns = results.columns(scenario)
    tables: list[str] = []

    def add(title: str, value: Callable[[str, str], float | None]) -> None:
        rows = [
            (engine, *(_number(value(engine, column)) for column in columns))
            for engine in results.rounds[scenario]
        ]
        tables.append(_table((title, *(f"{int(one):,} at once" for one in columns)), rows))

    for figure, title in _FIGURES:
        if figure != "utilisation" or scenario != "0ms":
            add(title, lambda engine, column, f=figure: results.median(scenario, engine, column, f))  # type: ignore[misc]
    if "1" in results.columns("0ms") and columns != ["1"]:
        add(
            "KiB an episode at once", lambda engine, column: _kib(results, scenario, engine, column)
        )
    add(
        "start to first call, s",
        lambda engine, column: results.median(scenario, engine, column, "startup_s"),
    )
    return tables


def _kib(results: Results, scenario: str, engine: str, column: str) -> float | None:
    """Return how much more memory an engine took than for one episode at a time, for each."""
    one = results.median("0ms", engine, "1", "peak_rss_mib")
    many = results.median(scenario, engine, column, "peak_rss_mib")
    if one is None or many is None or column == "1":
        return None
    return 1024 * max(0.0, many - one) / (int(column) - 1)


def _faults(results: Results) -> str:
    names = ("episodes", "faults", "lost", "seconds")
    rows = [
        (engine, *(_number(results.median("faults", engine, "", name)) for name in names))
        for engine in results.rounds["faults"]
    ]
    return _table(("", *names), rows)


def _kills(results: Results) -> str:
    names = ("episodes", "finished", "redone", "lost")
    rows = [
        (
            engine,
            *(_number(results.median("kill", engine, "", name)) for name in names),
            _number(_redone(results, engine)),
        )
        for engine in results.rounds["kill"]
    ]
    heading = ("", "episodes", "finished when it was killed", "redone", "lost", "redone, %")
    return _table(heading, rows)


def _table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    rule = "|".join(["---", *["---:"] * (len(heading) - 1)])
    lines = [f"| {' | '.join(cells)} |" for cells in (heading, *rows)]
    return "\n".join([lines[0], f"|{rule}|", *lines[1:]])


def _number(value: float | None) -> str:
    """Return three significant digits, without exponent."""
    if value is None:
        return "-"
    if value >= 100 or value == int(value):
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.3g}"

"""Tables of rollouts as Markdown."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import median

from common.output import number, table

__all__ = ["Results", "parts_of"]

_OWN = "gem-core"
_FIGURES = (
    ("turns_per_s", "turns/s"),
    ("cpu_ms", "CPU ms a turn"),
    ("utilisation", "utilisation: ideal time / real time"),
)


@dataclass
class Results:
    """Figures of each round, by scenario, engine and column (number of episodes)."""

    rounds: dict[str, dict[str, dict[str, list[dict[str, float]]]]] = field(default_factory=dict)

    def add(self, scenario: str, engine: str, column: str, figures: dict[str, float]) -> None:
        """Add the figures of a round."""
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

    def columns(self, scenario: str) -> list[str]:
        """Return the columns of a scenario."""
        found = [column for one in self.rounds.get(scenario, {}).values() for column in one]
        return list(dict.fromkeys(found))


def _redone(results: Results, engine: str) -> float | None:
    pair = (results.of("kill", engine, "", figure) for figure in ("redone", "finished"))
    shares = [100 * redone / finished for redone, finished in zip(*pair, strict=True)]
    return median(shares) if shares else None


def parts_of(results: Results, titles: Mapping[str, str]) -> list[str]:
    """Return all tables as Markdown.

    Args:
        results: The figures.
        titles: Titles of the scenarios with tables by number of episodes.
    """
    parts: list[str] = []
    for scenario, title in titles.items():
        if scenario in results.rounds:
            parts += [f"## {title}", *_looks(results, scenario)]
    if results.rounds.get("faults"):
        parts += ["## 2 % of the calls go wrong", _faults(results)]
    if results.rounds.get("kill"):
        parts += ["## Killed half way with kill -9, and started again", _kills(results)]
    if (seconds := results.median("eval", _OWN, "", "seconds")) is not None:
        parts.append(f"`gem-core eval` of one episode: {number(seconds)} s.")
    return parts


def _looks(results: Results, scenario: str) -> list[str]:
    """Return the tables of a scenario: engines by number of episodes."""
    columns = results.columns(scenario)
    tables: list[str] = []

    def add(title: str, value: Callable[[str, str], float | None]) -> None:
        rows = [
            (engine, *(number(value(engine, column)) for column in columns))
            for engine in results.rounds[scenario]
        ]
        tables.append(table((title, *(f"{int(one):,} episodes" for one in columns)), rows))

    for figure, title in _FIGURES:
        if figure != "utilisation" or scenario != "0ms":
            add(title, lambda engine, column, f=figure: results.median(scenario, engine, column, f))  # type: ignore[misc]
    if "1" in results.columns("0ms") and columns != ["1"]:
        add("KiB an episode", lambda engine, column: _kib(results, scenario, engine, column))
    add(
        "start to first call, s",
        lambda engine, column: results.median(scenario, engine, column, "startup_s"),
    )
    return tables


def _kib(results: Results, scenario: str, engine: str, column: str) -> float | None:
    """Return the memory per episode beyond that of a single episode."""
    one = results.median("0ms", engine, "1", "peak_rss_mib")
    many = results.median(scenario, engine, column, "peak_rss_mib")
    if one is None or many is None or column == "1":
        return None
    return 1024 * max(0.0, many - one) / (int(column) - 1)


def _faults(results: Results) -> str:
    names = ("episodes", "faults", "lost", "seconds")
    rows = [
        (engine, *(number(results.median("faults", engine, "", name)) for name in names))
        for engine in results.rounds["faults"]
    ]
    return table(("", *names), rows)


def _kills(results: Results) -> str:
    names = ("episodes", "finished", "redone", "lost")
    rows = [
        (
            engine,
            *(number(results.median("kill", engine, "", name)) for name in names),
            number(_redone(results, engine)),
        )
        for engine in results.rounds["kill"]
    ]
    heading = ("", "episodes", "finished when it was killed", "redone", "lost", "redone, %")
    return table(heading, rows)

"""What is shown while episodes are played: live at a terminal, else lines now and then."""

import time
from collections import Counter
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from gem_eval.episodes import Episode
from gem_eval.statistics import wilson

__all__ = ["Progress", "Tally"]

SECONDS_BETWEEN_LINES = 10.0
MOST_ROWS = 12
_BAR = 24


@dataclass
class Tally:
    """What one agent has done in one environment so far.

    Args:
        env_id: Id of the environment.
        agent: Name of the agent.
        total: Episodes that are to be played.
    """

    env_id: str
    agent: str
    total: int
    done: int = 0
    judged: int = 0
    successes: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    tasks: set[int] = field(default_factory=set)

    def add(self, episode: Episode) -> None:
        """Count an episode."""
        self.done += 1
        self.tasks.add(episode.seed)
        if episode.success is not None:
            self.judged += 1
            self.successes += episode.success
        if episode.boundary:
            self.errors[episode.boundary] += 1


class Progress:
    """Shows how far a run is; use it as a context manager.

    Args:
        console: Where.
        tallies: What there is to do.
        mode: ``live``, ``lines``, ``off``, or ``auto``: live at a terminal, else lines.
        confidence: Of the intervals.
    """

    def __init__(
        self, console: Console, tallies: list[Tally], mode: str, confidence: float
    ) -> None:
        if mode == "auto":
            mode = "live" if console.is_terminal else "lines"
        self._console = console
        self._tallies = tallies
        self._mode = mode
        self._confidence = confidence
        self._current: Tally | None = None
        self._started = self._told = time.monotonic()
        self._played = self._turns = self._tokens = 0
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if self._mode == "live":
            self._live = Live(
                get_renderable=self._render,
                console=self._console,
                refresh_per_second=4,
                transient=True,
            )
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def add(self, tally: Tally, episode: Episode) -> None:
        """Count an episode that was played just now."""
        tally.add(episode)
        self._current = tally
        self._played += 1
        self._turns += episode.turns
        self._tokens += (episode.prompt_tokens or 0) + (episode.completion_tokens or 0)
        now = time.monotonic()
        is_due = now - self._told >= SECONDS_BETWEEN_LINES or tally.done == tally.total
        if self._mode == "lines" and is_due:
            self._told = now
            name = f"{tally.env_id} {tally.agent}"
            self._console.print(Text(f"{name}: {self._line(tally)}"), soft_wrap=True)

    def _line(self, tally: Tally) -> str:
        parts = [f"{tally.done}/{tally.total} episodes", f"success {self._success(tally)}"]
        parts += [self._speed(), _errors(tally.errors), self._left()]
        return ", ".join(filter(None, parts))

    def _success(self, tally: Tally) -> str:
        """Return the success rate; its interval counts episodes of one task as one."""
        if not tally.judged:
            return "-"
        rate = tally.successes / tally.judged
        low, high = wilson(rate, min(tally.judged, len(tally.tasks)), self._confidence)
        return f"{rate:.1%} [{low:.0%}, {high:.0%}]"

    def _speed(self) -> str:
        elapsed = max(time.monotonic() - self._started, 1e-6)
        speed = f"{self._turns / elapsed:,.1f} turns/s"
        return f"{speed}, {self._tokens / elapsed:,.0f} tokens/s" if self._tokens else speed

    def _left(self) -> str:
        missing = sum(tally.total - tally.done for tally in self._tallies)
        if not self._played or not missing:
            return ""
        seconds = int(missing * (time.monotonic() - self._started) / self._played)
        return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02} left"

    def _render(self) -> RenderableType:
        done = sum(tally.done for tally in self._tallies)
        total = sum(tally.total for tally in self._tallies)
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(overflow="fold")
        for _ in range(4):
            table.add_column(no_wrap=True)
        for tally in self._shown():
            table.add_row(
                Text(tally.env_id, style="bold" if tally is self._current else ""),
                Text(tally.agent),
                f"{tally.done}/{tally.total}",
                Text(f"success {self._success(tally)}"),
                Text(f"{count} errors" if (count := tally.errors.total()) else "", style="red"),
            )
        below = ", ".join(filter(None, [f"{done}/{total}", self._speed(), self._left()]))
        errors = sum((tally.errors for tally in self._tallies), Counter[str]())
        line = Table.grid(padding=(0, 2, 0, 0))
        bar = ProgressBar(total=max(total, 1), completed=done, width=_BAR)
        line.add_row(bar, Text(below, style="dim"))
        return Group(table, line, *([Text(_errors(errors), style="red")] if errors else []))

    def _shown(self) -> list[Tally]:
        """Return the tallies round the current one, as many as there is room for."""
        if len(self._tallies) <= MOST_ROWS or self._current is None:
            return self._tallies[:MOST_ROWS]
        place = next(i for i, tally in enumerate(self._tallies) if tally is self._current)
        first = max(0, min(place - MOST_ROWS // 2, len(self._tallies) - MOST_ROWS))
        return self._tallies[first : first + MOST_ROWS]


def _errors(errors: Counter[str]) -> str:
    if not errors:
        return ""
    return "errors: " + ", ".join(f"{where} {count}" for where, count in errors.items())

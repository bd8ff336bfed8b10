"""The progress of an evaluation."""

import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from rich.console import Console, Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from gem_eval.episodes import EpisodeRecord, Task
from gem_eval.statistics import wilson
from gem_rollout.commands.progress import ProgressView, clock, print_line
from gem_rollout.episodes.rollout import Rollout

__all__ = ["Progress", "Tally"]

MAX_ROWS = 12
_BAR = 24


@dataclass
class Tally:
    """The episodes of one agent in one environment so far.

    Args:
        env_id: Id of the environment.
        agent: Name of the agent.
        total: The number of episodes to be played.
        done: Episodes that ended.
        judged: Episodes of which it is known whether they succeeded.
        successes: Episodes that succeeded.
        errors: Episodes that ended with an error, by boundary.
        tasks: The tasks.
        seconds: Wall time of the episodes, summed.
        cost: Cost in the unit that the agent reports; None if it reports none.
        retries: Requests to the model, and episodes, that were repeated.
    """

    env_id: str
    agent: str
    total: int
    done: int = 0
    judged: int = 0
    successes: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    tasks: set[Task] = field(default_factory=set)
    seconds: float = 0.0
    cost: float | None = None
    retries: int = 0

    def add(self, episode: EpisodeRecord) -> None:
        """Count an episode."""
        self.done += 1
        self.tasks.add(episode.task)
        self.seconds += episode.seconds
        self.retries += episode.retries + episode.repeats
        if episode.cost is not None:
            self.cost = (self.cost or 0.0) + episode.cost
        if episode.success is not None:
            self.judged += 1
            self.successes += episode.success
        if episode.failure is not None:
            self.errors[episode.failure.boundary] += 1


class Progress(ProgressView):
    """Shows the progress of an evaluation; use it as a context manager.

    Args:
        console: The console to print on.
        tallies: One for each agent and environment.
        mode: ``live``, ``lines``, ``off``, or ``auto``: live at a terminal, else lines.
        confidence: Confidence level of the intervals.
    """

    def __init__(
        self, console: Console, tallies: list[Tally], mode: str, confidence: float
    ) -> None:
        super().__init__(console, mode, transient=True)
        self._tallies = tallies
        self._confidence = confidence
        self._current: Tally | None = None
        self._last_line = self._started
        self._played = self._turns = self._tokens = 0
        self._said = ""
        self._seconds = 0.0
        self.rollout: Rollout | None = None
        """The rollout that plays the episodes now."""

    def add(self, tally: Tally, episode: EpisodeRecord) -> None:
        """Count an episode that has just ended."""
        tally.add(episode)
        self._current = tally
        self._played += 1
        self._seconds += episode.seconds
        self._turns += episode.turns
        self._tokens += (episode.prompt_tokens or 0) + (episode.completion_tokens or 0)
        if self._line_is_due(important=tally.done == tally.total):
            print_line(self._console, f"{tally.env_id} {tally.agent}: {self._line(tally)}")

    def say(self, text: str) -> None:
        """Show a line about the whole run, which replaces the one before."""
        self._said = text
        if self._line_is_due(important=False):
            print_line(self._console, text)

    def _line(self, tally: Tally) -> str:
        parts = [f"{tally.done}/{tally.total} episodes", f"success {self._success(tally)}"]
        parts += [self._speed(), *self._calls(), _errors(tally.errors), self._left()]
        return ", ".join(filter(None, parts))

    def _success(self, tally: Tally) -> str:
        """Return the success rate; its interval counts episodes of one task as one.

        If every episode failed, there is none.
        """
        if not tally.judged or tally.done == tally.errors.total():
            return "-"
        rate = tally.successes / tally.judged
        low, high = wilson(rate, min(tally.judged, len(tally.tasks)), self._confidence)
        return f"{rate:.1%} [{low:.0%}, {high:.0%}]"

    def _speed(self) -> str:
        elapsed = max(time.monotonic() - self._started, 1e-6)
        speed = f"{self._turns / elapsed:,.1f} turns/s"
        return f"{speed}, {self._tokens / elapsed:,.0f} tokens/s" if self._tokens else speed

    def _calls(self) -> list[str]:
        """Return the cost, the retries and the calls in flight, each as far as there are any."""
        costs = [tally.cost for tally in self._tallies if tally.cost is not None]
        cost, retries = sum(costs), sum(tally.retries for tally in self._tallies)
        calls = 0 if self.rollout is None else self.rollout.calls_in_flight
        return [
            f"cost {cost:,.2f}" if cost >= 1 else f"cost {cost:.3g}" if costs else "",
            f"{retries:,} {'retry' if retries == 1 else 'retries'}" if retries else "",
            f"{calls:,} {'call' if calls == 1 else 'calls'} in flight" if calls else "",
        ]

    def _left(self) -> str:
        seconds = self._seconds_left()
        return f"{clock(seconds)} left" if seconds else ""

    def _seconds_left(self) -> float:
        """Return the expected time to the end; 0 if it is not known yet.

        Each missing episode is expected to take as long as those of its environment and agent did,
        or else as those of its environment, or else as all. As many as until now are expected to
        run at the same time; those in flight are taken to be half done.
        """
        seconds, done = defaultdict[str, float](float), Counter[str]()
        for tally in self._tallies:
            for key in (tally.env_id, ""):
                seconds[key] += tally.seconds
                done[key] += tally.done
        if not self._played or not seconds[""]:
            return 0.0
        missing = 0.0
        for tally in self._tallies:
            key = tally.env_id if done[tally.env_id] else ""
            mean = tally.seconds / tally.done if tally.done else seconds[key] / done[key]
            missing += max(0, tally.total - tally.done) * mean
        in_flight = 0 if self.rollout is None else self.rollout.report.in_flight
        half = min(missing, in_flight * seconds[""] / done[""] / 2)
        elapsed = time.monotonic() - self._started
        return (missing - half) * elapsed / (self._seconds + half)

    def _render(self) -> RenderableType:
        done = sum(tally.done for tally in self._tallies)
        total = sum(tally.total for tally in self._tallies)
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(overflow="fold")
        for _ in range(4):
            table.add_column(no_wrap=True)
        for tally in self._visible():
            table.add_row(
                Text(tally.env_id, style="bold" if tally is self._current else ""),
                Text(tally.agent),
                f"{tally.done}/{tally.total}",
                Text(f"success {self._success(tally)}"),
                Text(f"{count} errors" if (count := tally.errors.total()) else "", style="red"),
            )
        parts = [f"{done}/{total}", self._speed(), *self._calls(), self._left()]
        below = ", ".join(filter(None, parts))
        errors = sum((tally.errors for tally in self._tallies), Counter[str]())
        line = Table.grid(padding=(0, 2, 0, 0))
        bar = ProgressBar(total=max(total, 1), completed=done, width=_BAR)
        line.add_row(bar, Text(below, style="dim"))
        said = [Text(self._said)] if self._said else []
        return Group(table, line, *said, *([Text(_errors(errors), style="red")] if errors else []))

    def _visible(self) -> list[Tally]:
        """Return at most ``MAX_ROWS`` tallies, the current one in the middle."""
        if len(self._tallies) <= MAX_ROWS or self._current is None:
            return self._tallies[:MAX_ROWS]
        index = next(i for i, tally in enumerate(self._tallies) if tally is self._current)
        first = max(0, min(index - MAX_ROWS // 2, len(self._tallies) - MAX_ROWS))
        return self._tallies[first : first + MAX_ROWS]


def _errors(errors: Counter[str]) -> str:
    if not errors:
        return ""
    return "errors: " + ", ".join(f"{where} {count}" for where, count in errors.items())

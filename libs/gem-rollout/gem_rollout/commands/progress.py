"""The output of commands while they work: live at a terminal, else a line every ten seconds."""

import math
import time
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any, Literal, Self

from rich.console import Console, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from gem_core.errors import ConfigError
from gem_core.options import visible

__all__ = ["MODES", "Mode", "ProgressBar", "ProgressView", "clock", "print_line"]

Mode = Literal["auto", "live", "lines", "off"]
MODES = ("auto", "live", "lines", "off")
SECONDS_BETWEEN_LINES = 10.0


class ProgressView(ABC):
    """A view of how far a run has come; use it as a context manager.

    Args:
        console: The console to print on.
        mode: ``live``, ``lines``, ``off``, or ``auto``: live at a terminal, else lines.
        transient: Whether the live view disappears at the end.

    Raises:
        ConfigError: There is no such mode.
    """

    def __init__(self, console: Console, mode: str = "auto", *, transient: bool = False) -> None:
        if mode not in MODES:
            raise ConfigError(f"progress must be one of {', '.join(MODES)}; got {mode!r}.")
        if mode == "auto":
            mode = "live" if console.is_terminal else "lines"
        self._console = console
        self._mode = mode
        self._transient = transient
        self._started = time.monotonic()
        self._last_line = -math.inf
        self._live: Live | None = None

    @abstractmethod
    def _render(self) -> RenderableType:
        """Return the live view."""

    def __enter__(self) -> Self:
        self._started = time.monotonic()
        if self._mode == "live":
            self._live = Live(
                get_renderable=self._render,
                console=self._console,
                refresh_per_second=4,
                transient=self._transient,
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

    def _line_is_due(self, *, important: bool) -> bool:
        """Return whether a line is due, and count it as printed."""
        now = time.monotonic()
        is_due = important or now - self._last_line >= SECONDS_BETWEEN_LINES
        if self._mode != "lines" or not is_due:
            return False
        self._last_line = now
        return True


class ProgressBar(ProgressView):
    """A bar that disappears at the end; in the mode ``lines``, what it shows in words.

    Args:
        console: The console to print on.
        mode: See ``ProgressView``.
        total: Steps until the end; None if that is not known.
        description: What is being done.
    """

    def __init__(
        self, console: Console, mode: str, total: int | None, description: str = ""
    ) -> None:
        super().__init__(console, mode, transient=True)
        columns = (TextColumn("{task.description}", markup=False), BarColumn())
        self._bar = Progress(*columns, MofNCompleteColumn(), TimeRemainingColumn(), console=console)
        self._task = self._bar.add_task(description, total=total)
        self._last_line = time.monotonic()

    def update(self, **fields: Any) -> None:
        """Change what is shown: ``description``, ``completed``, or ``advance`` by some steps."""
        self._bar.update(self._task, **fields)
        if self._line_is_due(important=False):
            task = self._bar.tasks[0]
            of = "" if task.total is None else f"/{task.total:.0f}"
            print_line(self._console, f"{task.description} {task.completed:.0f}{of}".strip())

    def _render(self) -> RenderableType:
        return self._bar.get_renderable()


def print_line(console: Console, text: str, style: str = "") -> None:
    """Print a text as it is: without markup, and without line breaks to fit the console."""
    console.print(Text(visible(text), style=style), soft_wrap=True)


def clock(seconds: float) -> str:
    """Return a duration as ``h:mm:ss``; a negative one as ``0:00:00``."""
    whole = max(0, int(seconds))
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"

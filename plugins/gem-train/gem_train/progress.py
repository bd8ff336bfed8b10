"""The output while a model is trained: live at a terminal, else lines now and then."""

import math
import time
from collections import deque
from collections.abc import Mapping

from rich.console import Console, Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from gem_rollout.commands.progress import MODES, ProgressView, clock, print_line
from gem_train.plots import sparkline

__all__ = ["MODES", "Progress"]

_BAR = 24
_CURVE = 40
_SMOOTHING = 0.8
"""Weight of the earlier values in the moving averages of the curves."""
_RECENT = 20
"""Steps that the remaining time is estimated from."""
_SHOWN = {
    "loss": "train/loss",
    "entropy": "train/entropy",
    "gradient norm": "train/grad_norm",
    "clipped": "train/clipped",
    "KL of the update": "train/kl_update",
    "KL to the start": "train/kl_reference",
    "turns": "rollout/turns",
    "response tokens": "rollout/response_tokens",
    "errors": "rollout/errors",
}
_SHARES = ("success", "clipped", "errors")


class Progress(ProgressView):
    """Shows how far a training run is; use it as a context manager.

    Args:
        console: Where.
        steps: How many there are to do.
        mode: ``live``, ``lines``, ``off``, or ``auto``: live at a terminal, else lines.

    Raises:
        ConfigError: There is no such mode.
    """

    def __init__(self, console: Console, steps: int, mode: str = "auto") -> None:
        super().__init__(console, mode)
        self._steps = steps
        self._step = 0
        self._latest: dict[str, float] = {}
        self._evaluated = 0
        self._curves: dict[str, list[float]] = {"success": [], "return": []}
        self._times: deque[tuple[int, float]] = deque(maxlen=_RECENT + 1)

    def update(self, step: int, metrics: Mapping[str, float]) -> None:
        """Take note of figures.

        Args:
            step: Steps that are done.
            metrics: Their figures, named as in ``gem_train.metrics``.
        """
        now = time.monotonic()
        self._step = step
        self._times.append((step, now))
        self._latest.update(metrics)
        has_eval = any(name.startswith("eval/") for name in metrics)
        if has_eval:
            self._evaluated = step
        for name, curve in self._curves.items():
            value = metrics.get(f"rollout/{name}", math.nan)
            if math.isfinite(value):
                last = curve[-1] if curve else value
                curve.append(_SMOOTHING * last + (1 - _SMOOTHING) * value)
        if self._line_is_due(important=has_eval or step == self._steps):
            print_line(self._console, self._line())

    def note(self, text: str) -> None:
        """Print a line that stays, in every mode."""
        print_line(self._console, text)

    def _line(self) -> str:
        latest = self._latest
        parts = [f"step {self._step}/{self._steps}"]
        parts += [
            f"{name} {_text(name, latest[f'rollout/{name}'])}"
            for name in self._curves
            if f"rollout/{name}" in latest
        ]
        return ", ".join(filter(None, [*parts, *self._figures(), self._eval(), self._time()]))

    def _figures(self) -> list[str]:
        latest = self._latest
        found = [
            f"{name} {_text(name, latest[key])}" for name, key in _SHOWN.items() if key in latest
        ]
        for kind in ("sampled", "learned"):
            speed = latest.get(f"speed/{kind}_tokens_per_second")
            if speed is not None:
                found.append(f"{speed:,.0f} tokens/s {kind}")
        return found

    def _eval(self) -> str:
        found = [
            f"{name} {_text(name, self._latest[f'eval/{name}'])}"
            for name in self._curves
            if f"eval/{name}" in self._latest
        ]
        return f"evaluation of step {self._evaluated}: {', '.join(found)}" if found else ""

    def _time(self) -> str:
        now = time.monotonic()
        text = f"{clock(now - self._started)} elapsed"
        first, last = (self._times[0], self._times[-1]) if self._times else ((0, now), (0, now))
        if last[0] > first[0] and self._step < self._steps:
            seconds = (last[1] - first[1]) / (last[0] - first[0])
            since = now - last[1]
            text += f", {clock((self._steps - self._step) * seconds - since)} left"
        return text

    def _render(self) -> RenderableType:
        head = Table.grid(padding=(0, 2, 0, 0))
        bar = ProgressBar(total=max(self._steps, 1), completed=self._step, width=_BAR)
        head.add_row(f"step {self._step}/{self._steps}", bar, Text(self._time(), style="dim"))
        curves = Table.grid(padding=(0, 2, 0, 0))
        for name, values in self._curves.items():
            if values:
                line = sparkline(values, _CURVE, ascii_only=self._console.options.ascii_only)
                now = _text(name, self._latest[f"rollout/{name}"])
                curves.add_row(Text(name), Text(now, style="bold", justify="right"), Text(line))
        lines = [Text(", ".join(self._figures()), style="dim"), Text(self._eval(), style="green")]
        return Group(head, curves, *[line for line in lines if line.plain])


def _text(name: str, value: float) -> str:
    if name in _SHARES:
        return f"{value:.1%}"
    return f"{value:.3f}" if name == "return" else f"{value:.3g}"

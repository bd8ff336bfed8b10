"""The progress display of training."""

import io
import re

import pytest
from rich.console import Console

from gem_core.errors import ConfigError
from gem_rollout.commands import progress as base
from gem_train import progress as module
from gem_train.progress import Progress


def console(*, terminal=False, encoding="utf-8"):
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, write_through=True)
    return Console(file=file, force_terminal=terminal, width=100, color_system=None)


def shown(of):
    of.file.flush()
    return of.file.buffer.getvalue().decode(of.file.encoding)


def figures(step):
    return {
        "rollout/success": step / 10,
        "rollout/return": step / 10 - 1,
        "rollout/turns": 3.5,
        "train/loss": 0.0123,
        "train/kl_update": 0.001,
        "speed/sampled_tokens_per_second": 1840.4,
    }


def play(of, steps=8, mode="auto", evaluated=()):
    with Progress(of, steps, mode) as progress:
        for step in range(1, steps + 1):
            more = {"eval/success": 0.75, "eval/return": 0.5} if step in evaluated else {}
            progress.update(step, figures(step) | more)
    return shown(of)


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test sets, so that displayed times do not depend on the machine."""

    class Clock:
        now = 1000.0

        def monotonic(self):
            return self.now

    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(base, "time", clock)
    return clock


def test_without_a_terminal_there_are_lines_now_and_then(clock):
    lines = play(console(), evaluated=[5]).splitlines()
    assert [line.partition(",")[0] for line in lines] == ["step 1/8", "step 5/8", "step 8/8"]
    assert "success 10.0%, return -0.900, loss 0.0123, KL of the update 0.001" in lines[0]
    assert "turns 3.5, 1,840 tokens/s sampled" in lines[0]
    assert "evaluation" not in lines[0]
    assert "evaluation of step 5: success 75.0%, return 0.500" in lines[1]
    assert "evaluation of step 5" in lines[2]


def test_a_line_is_due_when_its_time_has_come(clock):
    of = console()
    with Progress(of, 100) as progress:
        for step in range(1, 13):
            clock.now += 4
            progress.update(step, figures(step))
    steps = [int(found) for found in re.findall(r"^step (\d+)/100", shown(of), re.MULTILINE)]
    assert steps == [1, 4, 7, 10]


def test_the_remaining_time_is_estimated_from_the_latest_steps(clock):
    of = console()
    with Progress(of, 1000, "lines") as progress:
        for step in range(900, 930):
            clock.now += 100 if step < 905 else 10
            progress.update(step, {"eval/success": 1.0})
    lines = shown(of).splitlines()
    assert "left" not in lines[0]
    assert "0:12:30 elapsed, 0:11:50 left" in lines[-1]


def test_at_a_terminal_curves_and_metrics_are_there_at_the_end():
    last = play(console(terminal=True), steps=8, evaluated=[4]).rpartition("step 8/8")[2]
    assert "success" in last
    assert "80.0%" in last
    assert "▁" in last
    assert "█" in last
    assert "loss 0.0123" in last
    assert "1,840 tokens/s sampled" in last
    assert "evaluation of step 4: success 75.0%" in last


def test_a_terminal_without_blocks_gets_plain_characters():
    text = play(console(terminal=True, encoding="ascii"), mode="live")
    assert "success" in text
    assert text.isascii()


def test_progress_that_is_off_shows_only_notes():
    of = console()
    with Progress(of, 2, "off") as progress:
        progress.update(1, figures(1))
        progress.note("No checkpoint after step 1: [Errno 28] No space left on device")
        progress.update(2, figures(2))
    assert shown(of) == "No checkpoint after step 1: [Errno 28] No space left on device\n"


@pytest.mark.parametrize("terminal", [True, False])
def test_a_note_stays_whatever_is_shown_else(terminal):
    of = console(terminal=terminal)
    with Progress(of, 2) as progress:
        progress.update(1, figures(1))
        progress.note("[b]as it is[/b]")
        progress.update(2, figures(2))
    assert shown(of).count("[b]as it is[/b]") == 1


@pytest.mark.parametrize("mode", ["live", "lines"])
def test_metrics_that_are_missing_or_not_finite_do_no_harm(mode):
    of = console(terminal=mode == "live")
    with Progress(of, 3, mode) as progress:
        progress.update(0, {"eval/success": 0.5})
        progress.update(1, {})
        progress.update(2, {"rollout/success": float("nan"), "train/loss": float("inf")})
        progress.update(3, {"rollout/success": 0.25})
    assert "evaluation of step 0: success 50.0%" in shown(of)
    assert "step 3/3" in shown(of)


def test_a_mode_that_does_not_exist_is_reported():
    with pytest.raises(ConfigError, match="auto, live, lines, off; got 'loud'"):
        Progress(console(), 1, "loud")

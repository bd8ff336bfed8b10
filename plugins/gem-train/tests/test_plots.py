"""Curves as plots and as text."""

import math
import statistics
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from needs import needs
from selection import thorough

from gem_core.errors import ConfigError, DataError, NotInstalledError
from gem_rollout.records.step_metrics import panels_of
from gem_train.metrics import open_writers
from gem_train.plots import (
    mean_band,
    plot_run,
    plot_runs,
    smoothed,
    sparkline,
    text_curve,
)

SOME = settings(max_examples=100 if thorough() else 25)
VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=200)


def write(folder, rows):
    writers = open_writers(["csv"], folder, run_name="x", config={}, resume_step=None)
    for step, figures in rows:
        writers.log(step, figures)
    writers.close()
    return folder / "metrics.csv"


def run(folder, steps=60, envs=()):
    def figures(step):
        found = {"rollout/success": step / steps, "rollout/return": -1 / step, "train/loss": 0.1}
        found |= {"rollout/turns": 3.0, "train/entropy": 1.0, "train/kl_update": math.nan}
        found |= {f"rollout/{env}/success": 0.5 for env in envs}
        return found | ({"eval/success": step / steps} if step % 20 == 0 else {})

    return write(folder, [(step, figures(step)) for step in range(1, steps + 1)])


def pixels_of(path):
    from matplotlib.image import imread

    return imread(path)


class TestARun:
    @pytest.mark.slow
    def test_a_picture_is_drawn_beside_the_metrics_without_a_display(self, tmp_path, monkeypatch):
        needs("matplotlib")
        monkeypatch.delitem(sys.modules, "matplotlib.pyplot", raising=False)
        run(tmp_path, envs=["game:A-v0", "game:B-v0"])
        assert plot_run(tmp_path) == tmp_path / "curves.png"
        drawn = pixels_of(tmp_path / "curves.png")
        height, width, _ = drawn.shape
        assert width > height > 400
        for colour in ("#0072B2", "#D55E00"):  # training and evaluation
            assert has_colour(drawn, colour)
        assert "matplotlib.pyplot" not in sys.modules

    @pytest.mark.slow
    @pytest.mark.parametrize("rows", [[(1, {"rollout/success": 0.5})], [(0, {"eval/return": 1})]])
    def test_a_single_point_is_enough(self, tmp_path, rows):
        needs("matplotlib")
        write(tmp_path, rows)
        assert has_colour(
            pixels_of(plot_run(tmp_path)), "#D55E00" if "eval/return" in rows[0][1] else "#0072B2"
        )

    def test_the_parts_of_a_reward_have_one_panel(self, tmp_path):
        metrics = {
            "rollout/success": 0.0,
            "rollout/rewards/success": 0.5,
            "rollout/rewards/format": 1.0,
        }
        panels = panels_of(metrics)
        assert [one.title for one in panels][:2] == ["Success", "Parts of the reward"]
        assert panels[1].series == {
            "rollout/rewards/success": "success",
            "rollout/rewards/format": "format",
        }

    def test_a_run_without_metrics_is_reported(self, tmp_path):
        with pytest.raises(DataError, match="does not exist"):
            plot_run(tmp_path)
        write(tmp_path, [(1, {"time/step": 1.0, "rollout/success": math.nan})])
        with pytest.raises(DataError, match="no metrics that could be drawn"):
            plot_run(tmp_path)

    def test_a_missing_matplotlib_is_reported(self, tmp_path, without):
        run(tmp_path)
        without("matplotlib")
        with pytest.raises(NotInstalledError, match=r"pip install 'gem-train\[plots\]'"):
            plot_run(tmp_path)


def has_colour(pixels, colour):
    red, green, blue = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    near = (abs(pixels[..., :3] - [red, green, blue]) < 0.02).all(-1)
    return near.sum() > 10


class TestSeveralRuns:
    @pytest.mark.slow
    def test_the_band_is_the_t_interval_over_seeds(self, tmp_path):
        needs("scipy")
        values = [(0.1, 0.5), (0.3, 0.5), (0.2, 0.8)]
        files = [
            write(tmp_path / str(seed), [(1, {"a": one}), (2, {"a": two}), (3 + seed, {"a": 0})])
            for seed, (one, two) in enumerate(values)
        ]
        band = mean_band(files, "a")
        assert band.steps == [1, 2]
        for place, at_step in enumerate(zip(*values, strict=True)):
            # 4.302653 is the 97.5th percentile of Student's t with 2 degrees of freedom.
            half = 4.302653 * statistics.stdev(at_step) / math.sqrt(3)
            assert band.mean[place] == pytest.approx(statistics.mean(at_step))
            assert band.low[place] == pytest.approx(band.mean[place] - half, rel=1e-6)
            assert band.high[place] == pytest.approx(band.mean[place] + half, rel=1e-6)

    def test_one_seed_has_no_band(self, tmp_path):
        band = mean_band([write(tmp_path, [(1, {"a": 0.25})])], "a")
        assert band == ([1], [0.25], [0.25], [0.25])

    @pytest.mark.slow
    def test_each_label_is_drawn(self, tmp_path):
        needs("matplotlib", "scipy")
        runs = {
            label: [run(tmp_path / f"{label}{seed}", steps=20 + seed) for seed in range(2)]
            for label in ("rebn", "grpo", "ppo")
        }
        path = plot_runs(runs, "rollout/success", tmp_path / "out" / "all.png", title="X", reach=5)
        drawn = pixels_of(path)
        assert all(has_colour(drawn, colour) for colour in ("#0072B2", "#D55E00", "#009E73"))
        assert plot_runs(runs, "rollout/turns", tmp_path / "turns.svg").read_text().startswith("<?")

    def test_a_missing_metric_is_reported(self, tmp_path):
        one = write(tmp_path / "a", [(1, {"a": 1})])
        other = write(tmp_path / "b", [(2, {"a": 1, "b": 1})])
        with pytest.raises(DataError, match="no metric 'b'; it has: a"):
            mean_band([other, one], "b")
        with pytest.raises(DataError, match="No step has 'a' in all"):
            mean_band([one, other], "a")


class TestSmoothing:
    @pytest.mark.slow
    @SOME
    @given(VALUES, st.integers(1, 50))
    def test_it_stays_within_the_values_and_keeps_the_ends(self, values, reach):
        found = smoothed(values, reach)
        assert len(found) == len(values)
        assert (found[0], found[-1]) == (values[0], values[-1])
        slack = 1e-9 * max(map(abs, values))
        assert min(values) - slack <= min(found)
        assert max(found) <= max(values) + slack

    @pytest.mark.slow
    @SOME
    @given(VALUES)
    def test_a_reach_of_one_changes_nothing(self, values):
        assert smoothed(values, 1) == values

    @pytest.mark.slow
    @SOME
    @given(st.integers(3, 100), st.integers(1, 50))
    def test_a_straight_line_stays_where_it_is(self, count, reach):
        line = [float(place) for place in range(count)]
        assert smoothed(line, reach) == pytest.approx(line)

    def test_the_middle_is_the_mean_of_its_window(self):
        assert smoothed([0, 3, 0, 3, 6], 3) == [0, 1, 2, 3, 6]


class TestText:
    def test_a_curve_rises_from_the_lower_left_to_the_upper_right(self):
        lines = text_curve([0, 1, 2, 3, 4, 5, 6, 7, 8], width=9, height=3).splitlines()
        assert lines == ["8 |      _-'", "  |   _-'", "0 |_-'", "  +---------"]

    @pytest.mark.slow
    @SOME
    @given(VALUES, st.integers(1, 80), st.integers(2, 20))
    def test_it_has_a_mark_a_column_and_the_size_that_was_asked_for(self, values, width, height):
        *lines, axis = text_curve(values, width, height).splitlines()
        columns = min(width, len(values))
        assert len(lines) == height
        assert axis.endswith("+" + "-" * columns)
        left = axis.index("+") + 1
        bodies = [line[left:].ljust(columns) for line in lines]
        for column in range(columns):
            assert sum(body[column] != " " for body in bodies) == 1

    @pytest.mark.slow
    @SOME
    @given(VALUES, st.integers(1, 80))
    def test_a_sparkline_has_its_ends_at_the_least_and_the_greatest(self, values, width):
        line = sparkline(values, width)
        assert len(line) == min(width, len(values))
        assert set(line) <= set("▁▂▃▄▅▆▇█")
        assert set(line) == {"▅"} or {"▁", "█"} <= set(line)
        assert sparkline(values, width, ascii_only=True).isascii()

    def test_values_that_are_not_finite_are_left_out(self):
        assert text_curve([math.nan, math.inf]) == "(no values)"
        assert text_curve([math.nan, 1, 2], 10, 2) == text_curve([1, 2], 10, 2)

    @pytest.mark.parametrize("size", [(0, 5), (10, 1)])
    def test_a_curve_without_room_is_refused(self, size):
        with pytest.raises(ConfigError, match="width >= 1 and height >= 2"):
            text_curve([1, 2], *size)

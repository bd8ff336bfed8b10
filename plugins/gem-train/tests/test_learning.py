"""A reduced run of benchmarks/learning, which does learn."""

import csv
import statistics
import sys
from pathlib import Path

import plays  # noqa: F401 - skips where torch is missing

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


def test_rebn_raises_success_by_a_wide_margin_with_both_seeds(tmp_path):
    """It rose from about 0.4 to above 0.8 when tried; 64 episodes per step vary by 0.06."""
    sys.path.insert(0, str(BENCHMARKS))
    from learning.suite import train, warm_start
    from learning.tasks import RUNS, folder_of

    warm_start("reverse", tmp_path)
    (run,) = [one for one in RUNS if (one.task, one.label) == ("reverse", "rebn")]
    for seed in range(2):
        train(run, seed, tmp_path, steps=30)
        with (folder_of(run, seed, tmp_path) / "metrics.csv").open() as file:
            success = [float(row["rollout/success"]) for row in csv.DictReader(file)]
        start, end = statistics.fmean(success[:2]), statistics.fmean(success[-5:])
        assert end > start + 0.2

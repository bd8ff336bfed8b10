"""The studies of learning: their statistics, their pages, and one cell made again."""

import importlib
import json
import math
import re
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from needs import needs

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "learning" / "results"


@pytest.fixture(autouse=True, scope="module")
def _benchmarks_are_importable() -> Iterator[None]:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    yield
    sys.path.remove(str(ROOT / "benchmarks"))


def load(name):
    return importlib.import_module(f"learning.{name}")


def figures_of_results():
    return load("figures").Figures(load("store").Store(RESULTS))


def test_an_interval_is_students_t_over_the_means_of_warm_starts():
    values = {(0, 0): 1.0, (0, 1): 3.0, (1, 0): 4.0, (1, 1): 4.0, (2, 0): 9.0}
    found = load("intervals").interval(values)
    means = [2.0, 4.0, 9.0]
    assert found.mean == pytest.approx(5.0)
    half = 4.302653 * statistics.stdev(means) / math.sqrt(3)
    assert found.half == pytest.approx(half, rel=1e-6)
    assert (found.starts, found.runs) == (3, 5)


def test_more_seeds_of_one_warm_start_are_no_evidence_about_warm_starts():
    found = load("intervals").interval({(0, seed): float(seed) for seed in range(10)})
    assert math.isnan(found.half)
    assert not found.excludes_zero


VALUES = st.dictionaries(
    st.tuples(st.integers(0, 4), st.integers(0, 4)), st.floats(-10, 10), min_size=1
)


@given(VALUES, VALUES)
def test_a_difference_is_over_the_runs_of_the_same_warm_start_and_seed(first, second):
    def runs(values):
        return [{"start": start, "seed": seed, "x": x} for (start, seed), x in values.items()]

    common = {key: first[key] - second[key] for key in first.keys() & second.keys()}
    call = lambda: load("intervals").difference(runs(first), runs(second), lambda run: run["x"])  # noqa: E731
    if not common:
        with pytest.raises(ValueError, match="no run"):
            call()
        return
    found, expected = call(), load("intervals").interval(common)
    assert found.mean == pytest.approx(expected.mean, abs=1e-9)
    assert found.runs == len(common)


def test_cells_have_the_runs_of_each_warm_start_and_seed_once():
    cells = load("cells")
    for cell in cells.with_rates(cells.CELLS, dict.fromkeys(cells.ALGORITHMS, 1e-3)):
        runs = list(cells.runs_of(cell))
        assert len(set(runs)) == cell.starts * len(cell.seeds) == len(runs)
        assert cells.SWEEP_SEED not in cell.seeds


def made_up_store(folder, *, gain):
    """Figures of all runs, in which ReBN gets ``gain`` more than the others."""
    cells, store = load("cells"), load("store").Store(folder)
    tasks = load("tasks")
    rates = dict.fromkeys(cells.ALGORITHMS, cells.RATES[1])
    for family, of in tasks.FAMILIES.items():
        for start in range(3):
            plays = dict.fromkeys((*of.tasks, *of.others), played(0.4 + 0.01 * start))
            found = {"parameters": 1, "validation_loss": 0.5, "seconds": 1.0, "sha256": "0" * 64}
            store.add_warm_start({"family": family, "start": start, "plays": plays, **found})
    for cell in [*cells.SWEEP, *cells.with_rates(cells.CELLS, rates)]:
        for run in cells.runs_of(cell):
            value = 0.5 + 0.01 * run.start + 0.001 * run.seed + gain * (cell.algo == "rebn")
            value += 0.1 * (run.lr == cells.RATES[1])
            found = {"warm_start": "0" * 64, "seconds": 1.0, "curves": {}}
            found["plays"] = dict.fromkeys((cell.task, *cell.tests), played(value))
            found["curves"] = {name: [value] * run.steps for name in played(value)}
            store.add_run({**run._asdict(), **found})
    return store


def played(value):
    return {"return": value, "success": value, "turns": 3.0}


@pytest.mark.parametrize(("gain", "verdict"), [(0.2, "more"), (-0.2, "less"), (0.0, None)])
def test_sentences_say_more_or_less_only_where_the_interval_excludes_zero(tmp_path, gain, verdict):
    figures = load("figures").Figures(made_up_store(tmp_path, gain=gain))
    assert set(figures.rates.values()) == {load("cells").RATES[1]}
    page = load("page").details_page(figures)
    [line] = [one for one in page.splitlines() if one.startswith("- than REINFORCE: return")][:1]
    expected = "no difference can be seen" if verdict is None else f"**{verdict}**"
    assert f"return: {expected} ({gain:+.2f} ± 0.00)" in line


def test_the_tables_and_plots_are_written_from_figures_alone(tmp_path):
    store = made_up_store(tmp_path, gain=0.2)
    page = load("report").write_report(load("figures").Figures(store))
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == page
    assert "| rebn | guess | 0.003 | 3, 15 | 0.41 ± 0.02 | 0.81 ± 0.02 |" in page
    for name in re.findall(r"\]\((\w+\.png)\)", page):
        assert (tmp_path / name).stat().st_size > 1000


def test_the_pages_hold_the_stored_figures():
    """``run.py learning --report-only`` changes nothing that is committed."""
    figures = figures_of_results()
    page, details = load("page").curves_page(figures), load("page").details_page(figures)
    assert (ROOT / "docs" / "training" / "curves.md").read_text(encoding="utf-8") == page
    assert (RESULTS / "details.md").read_text(encoding="utf-8") == details


def test_every_run_names_the_warm_start_that_is_stored_with_its_hash():
    store = load("store").Store(RESULTS)
    assert store.runs
    for run, figures in store.runs.items():
        assert figures["warm_start"] == store.warm[run.family, run.start]["sha256"]
    for warm in store.warm.values():
        assert {"python", "torch", "transformers", "gem-train"} <= warm["versions"].keys()


def test_a_cell_made_again_agrees_with_the_committed_one(tmp_path, record_property):
    """Its warm start and one run are made again. Other versions and processors round differently.

    The run must be within the 95 % interval of one more run, and above its warm start.
    """
    needs("torch")
    cells, training = load("cells"), load("training")
    figures = figures_of_results()
    cell = figures.cells[cells.CI_CELL.study, cells.CI_CELL.label]
    committed = figures.store.of(cell)
    warm = training.make_warm_start(cell.family, 0, tmp_path / "warm")
    record_property("sha256 of the warm start", warm["sha256"])
    is_same = warm["sha256"] == figures.store.warm[cell.family, 0]["sha256"]
    print(f"Warm start {warm['sha256']}, {'the same as' if is_same else 'not'} the committed one.")
    run = next(cells.runs_of(cell))
    made = training.train(run, (), tmp_path / "warm", tmp_path / "run")
    for measure in ("return", "success"):
        expected = load("intervals").prediction(
            committed, lambda one, name=measure: one["plays"][cell.task][name]
        )
        found = made["plays"][cell.task][measure]
        assert abs(found - expected.mean) <= expected.half, json.dumps(made)
        assert found > warm["plays"][cell.task][measure] + 0.1

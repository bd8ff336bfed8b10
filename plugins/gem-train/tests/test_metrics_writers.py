"""Writers of metrics: files and services, resumed runs, and failures."""

import csv
import json
import math
import os
import random
import re
import sqlite3
import struct
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from needs import needs
from selection import thorough

from gem_core.errors import ConfigError, DataError, UnknownIdError
from gem_core.plugins import default_registry
from gem_train.metrics import Writers, open_writers, read_metrics
from gem_train.specs import WRITERS

NUMBERS = st.integers(-(10**9), 10**9) | st.floats(allow_nan=False)
NAMES = st.sampled_from(["rollout/return", "eval/success", "a,b", 'q"uote', "line\nbreak", "é/ü"])
FIGURES = st.dictionaries(NAMES, NUMBERS)
RUN = st.lists(st.tuples(st.integers(0, 3), FIGURES), max_size=12)

PACKAGES = {one.id: one.metadata.get("needs") for one in default_registry().list(WRITERS)}


def opened(folder, *names, resume=None, **options):
    return open_writers(
        names, folder, run_name="a run", config={"lr": 1e-3}, resume_step=resume, **options
    )


def rows_of(folder):
    with (folder / "metrics.csv").open(newline="") as file:
        return list(csv.reader(file))


class TestCsv:
    def test_a_table_gets_further_columns_in_later_steps(self, tmp_path):
        writers = opened(tmp_path, "csv")
        writers.log(1, {"a": 1, "b": 0.5})
        writers.log(2, {"a": 2, "eval/c": 7})
        writers.log(3, {"b": math.nan})
        writers.close()
        assert rows_of(tmp_path) == [
            ["step", "a", "b", "eval/c"],
            ["1", "1", "0.5", ""],
            ["2", "2", "", "7"],
            ["3", "", "nan", ""],
        ]

    def test_a_row_is_there_as_soon_as_it_is_logged(self, tmp_path):
        writers = opened(tmp_path, "csv")
        for step in range(5):
            writers.log(step, {"a": step})
            assert len(rows_of(tmp_path)) == step + 2

    def test_metrics_of_one_step_share_its_row(self, tmp_path):
        writers = opened(tmp_path, "csv")
        writers.log(0, {"a": 1})
        writers.log(0, {"b": 2})
        writers.log(0, {"b": 3})
        writers.log(1, {"a": 4})
        assert rows_of(tmp_path)[1:] == [["0", "1", "3"], ["1", "4", ""]]

    @pytest.mark.slow
    @settings(max_examples=100 if thorough() else 25)
    @given(RUN, RUN, st.integers(0, 12))
    def test_logged_metrics_are_read_back_and_a_resumed_run_replaces_later_steps(
        self, first, second, resume
    ):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            expected = {}

            def play(run, start, writers):
                step = start
                for further, figures in run:
                    step += further
                    writers.log(step, figures)
                    for figure, value in figures.items():
                        expected.setdefault(figure, {})[step] = value
                writers.close()

            play(first, 0, opened(folder, "csv"))
            for values in expected.values():
                for step in [step for step in values if step > resume]:
                    del values[step]
            play(second, resume + 1, opened(folder, "csv", resume=resume))
            if first or second:
                found = read_metrics(folder / "metrics.csv")
                plain = {figure: dict(zip(*pair, strict=True)) for figure, pair in found.items()}
                assert {k: v for k, v in plain.items() if v} == {
                    k: v for k, v in expected.items() if v
                }
                assert len({len(row) for row in rows_of(folder)}) == 1
            assert {path.name for path in folder.iterdir()} <= {"metrics.csv"}

    def test_a_new_run_replaces_the_table(self, tmp_path):
        opened(tmp_path, "csv").log(5, {"a": 1})
        opened(tmp_path, "csv").log(1, {"b": 1})
        assert rows_of(tmp_path) == [["step", "b"], ["1", "1"]]

    def test_a_line_that_a_crash_cut_is_left_out_and_mended(self, tmp_path):
        opened(tmp_path, "csv").log(1, {"a": 12, "b": 34})
        path = tmp_path / "metrics.csv"
        path.write_text(path.read_text() + "2,5")
        assert read_metrics(path) == {"a": ([1], [12.0]), "b": ([1], [34.0])}
        opened(tmp_path, "csv", resume=2).log(3, {"a": 6})
        assert rows_of(tmp_path)[1:] == [["1", "12", "34"], ["3", "6", ""]]

    @pytest.mark.parametrize(
        ("text", "reported"),
        [
            ("name,age\nx,1\n", "not a table of metrics"),
            ("step,a,a\n1,2,3\n", "no name may occur twice"),
            ("step,a\n1,2\n1\n", "row 3: expected 2 cells"),
            ("step,a\nsoon,2\n", "row 2"),
        ],
    )
    def test_another_table_is_refused_and_kept(self, tmp_path, text, reported):
        path = tmp_path / "metrics.csv"
        path.write_text(text)
        with pytest.raises(DataError, match=reported):
            read_metrics(path)
        with pytest.raises(DataError, match=reported):
            opened(tmp_path, "csv", resume=3)
        assert path.read_text() == text

    def test_a_cell_that_is_not_a_number_is_reported(self, tmp_path):
        path = tmp_path / "metrics.csv"
        path.write_text("step,a\n1,2\n2,much\n")
        with pytest.raises(DataError, match="row 3: a is 'much'"):
            read_metrics(path)


def need_tensorboard():
    needs("torch")
    needs("tensorboard")


def events_of(folder):
    """The scalars that TensorBoard's own reader finds, as {tag: [(step, value), ...]}."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    accumulator = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    accumulator.Reload()
    return {
        tag: [(event.step, event.value) for event in accumulator.Scalars(tag)]
        for tag in accumulator.Tags()["scalars"]
    }


class TestTensorBoard:
    @pytest.fixture(autouse=True)
    def _needs_tensorboard(self):
        need_tensorboard()

    def test_its_own_reader_finds_what_was_logged_as_soon_as_it_is_logged(self, tmp_path):
        writers = opened(tmp_path, "tensorboard")
        writers.log(0, {"eval/success": 0.5})
        writers.log(300, {"rollout/game:X-v0/return": -1.5, "train/tokens": 2**20})
        assert events_of(tmp_path) == {
            "eval/success": [(0, 0.5)],
            "rollout/game:X-v0/return": [(300, -1.5)],
            "train/tokens": [(300, 2.0**20)],
        }
        writers.close()

    def test_a_resumed_run_replaces_what_came_after(self, tmp_path):
        first = opened(tmp_path, "tensorboard")
        for step in range(1, 7):
            first.log(step, {"a": step})
        first.close()
        (written,) = tmp_path.glob("events.out.tfevents.*")
        # Files are read in the order of their names, which have the second of their beginning.
        written.rename(written.with_name(re.sub(r"\d{10}", "1000000000", written.name, count=1)))
        again = opened(tmp_path, "tensorboard", resume=3)
        again.log(4, {"a": 40})
        again.close()
        assert events_of(tmp_path)["a"] == [(1, 1), (2, 2), (3, 3), (4, 40)]

    def test_a_full_disk_is_reported_once_and_ends_neither_the_run_nor_other_writers(
        self, tmp_path
    ):
        [reported] = run_with_full_disk(tmp_path, ["in time"], "csv", "tensorboard").values()
        folder = tmp_path / "in time"
        assert len([one for one in reported if "'tensorboard' failed: OSError" in one]) == 1
        assert read_metrics(folder / "metrics.csv")["a"][0] == list(range(200))
        points = events_of(folder)["a"]
        assert points == [(step, float(step)) for step in range(len(points))]
        assert len(points) >= 50


FULL_DISK = """
import json, resource, sys
from pathlib import Path
from gem_train.metrics import open_writers

def room(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

def run(folder, until):
    reported = []
    writers = open_writers(sys.argv[2:], folder, run_name="x", config={}, resume_step=None,
                           warn=reported.append)
    for step in range(200):
        if step == 50:
            room(max(300, *(one.stat().st_size for one in folder.iterdir())) + 3)
        if step == 150 and until == "in time":
            room(resource.RLIM_INFINITY)
        writers.log(step, {"a": step, **({"late": step} if step >= 100 else {})})
    if until == "at the end":
        room(resource.RLIM_INFINITY)
    writers.close()
    writers.close()
    room(resource.RLIM_INFINITY)
    return reported

folders = sorted(Path(sys.argv[1]).iterdir())
print(json.dumps({one.name: run(one, one.name) for one in folders}))
"""


def run_with_full_disk(folder, untils, *names):
    """Run writers in folders named after when there is room again; return what they report."""
    for until in untils:
        (folder / until).mkdir()
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", FULL_DISK, str(folder), *names],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="limits of files are POSIX")
class TestAFullDisk:
    @pytest.fixture(scope="class")
    @classmethod
    def folder(cls, tmp_path_factory):
        return tmp_path_factory.mktemp("runs")

    @pytest.fixture(scope="class")
    @classmethod
    def reports(cls, folder):
        return run_with_full_disk(folder, ("in time", "at the end", "never"), "csv")

    @pytest.mark.parametrize("until", ["in time", "at the end"])
    def test_a_full_disk_is_reported_once_and_csv_loses_nothing_when_there_is_room_again(
        self, folder, reports, until
    ):
        [reported] = reports[until]
        assert "'csv' failed: OSError" in reported
        found = read_metrics(folder / until / "metrics.csv")
        assert found["a"] == (list(range(200)), [float(step) for step in range(200)])
        assert found["late"][0] == list(range(100, 200))
        assert [path.name for path in (folder / until).iterdir()] == ["metrics.csv"]

    def test_a_full_disk_leaves_the_last_whole_table(self, folder, reports):
        steps, values = read_metrics(folder / "never" / "metrics.csv")["a"]
        assert len(steps) >= 50
        assert steps == list(range(len(steps))) == values


class TestFailures:
    def test_a_writer_that_fails_is_reported_once_and_tried_again_while_others_go_on(
        self, tmp_path
    ):
        class Service:
            def __init__(self):
                self.asked = []

            def log(self, step, metrics):
                self.asked.append(step)
                raise ConnectionError("nobody there")

            def close(self):
                raise ConnectionError("still nobody")

        service, reported = Service(), []
        csv_writer = opened(tmp_path, "csv")
        writers = Writers({"service": service, "csv": csv_writer}, reported.append)
        writers.log(1, {"a": 1})
        writers.log(2, {"a": 2})
        writers.close()
        assert service.asked == [1, 2]
        assert reported == ["The writer 'service' failed: ConnectionError: nobody there."]
        assert read_metrics(tmp_path / "metrics.csv") == {"a": ([1, 2], [1.0, 2.0])}

    def test_failures_of_writers_are_warnings_by_default(self, tmp_path):
        (tmp_path / "metrics.csv").mkdir()
        writers = opened(tmp_path, "csv")
        with pytest.warns(RuntimeWarning, match="'csv' failed: .*directory") as reported:
            writers.log(1, {"a": 1})
        assert reported[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            writers.log(2, {"a": 2})

    def test_a_writer_that_cannot_be_opened_is_reported_and_left_out(self, tmp_path):
        (tmp_path / "metrics.csv").write_text("step,a\n1,2\n")
        (tmp_path / f".metrics.csv.{os.getpid()}").mkdir()
        reported = []
        writers = opened(tmp_path, "csv", resume=1, warn=reported.append)
        writers.log(2, {"a": 3})
        assert len(reported) == 1
        assert "The run continues without it" in reported[0]


class TestOpenWriters:
    def test_unknown_writers_are_reported_before_anything_is_written(self, tmp_path):
        with pytest.raises(UnknownIdError, match="Did you mean 'tensorboard'"):
            opened(tmp_path / "run", "csv", "tensorbord")
        assert not (tmp_path / "run").exists()

    def test_a_writer_that_is_named_twice_is_refused(self, tmp_path):
        with pytest.raises(ConfigError, match="once"):
            opened(tmp_path, "csv", "csv")

    @pytest.mark.parametrize("name", [name for name, package in PACKAGES.items() if package])
    def test_a_missing_package_is_reported_with_its_extra(self, tmp_path, name, monkeypatch):
        monkeypatch.setitem(sys.modules, PACKAGES[name], None)
        with pytest.raises(ConfigError, match=rf"pip install 'gem-train\[{name}\]'"):
            opened(tmp_path, name)

    def test_a_step_before_the_last_one_is_refused(self, tmp_path):
        writers = opened(tmp_path, "csv")
        writers.log(2, {"a": 1})
        with pytest.raises(ConfigError, match="step 1 came after step 2"):
            writers.log(1, {"a": 1})

    def test_numbers_of_other_libraries_become_pythons(self, tmp_path):
        np = needs("numpy")
        writers = opened(tmp_path, "csv")
        writers.log(1, {"a": np.float32(0.5), "b": np.int64(3), "c": True, "d": np.array(2.0)})
        assert rows_of(tmp_path)[1] == ["1", "0.5", "3.0", "1", "2.0"]

    def test_without_writers_nothing_is_written(self, tmp_path):
        writers = opened(tmp_path)
        writers.log(1, {"a": 1})
        writers.close()
        assert list(tmp_path.iterdir()) == []


SERVICE = """
import sys
from pathlib import Path
from gem_train.metrics import open_writers

name, folder, begin, end, resume = sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:])
reported = []
writers = open_writers([name], folder, run_name="a run", config={"lr": 0.001, "env": {"n": 1}},
                       resume_step=None if resume < 0 else resume, warn=reported.append)
for step in range(begin, end):
    writers.log(step, {"rollout/game:X-v0/return": step / 8})
writers.close()
assert not reported, reported
"""


def serve(name, folder, begin, end, resume, **environ):
    needs(name)
    done = subprocess.run(
        [sys.executable, "-c", SERVICE, name, str(folder), *map(str, (begin, end, resume))],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, **environ},
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""


def wandb_history(path):
    """The metrics of an offline run: records with headers of checksum, length and type."""
    from wandb.proto import wandb_internal_pb2

    data, place = path.read_bytes(), 7
    assert len(data) < 32_768, "beyond a block records may be cut"
    while place < len(data):
        _, length, _ = struct.unpack_from("<IHB", data, place)
        record = wandb_internal_pb2.Record.FromString(data[place + 7 : place + 7 + length])
        place += 7 + length
        if record.WhichOneof("record_type") == "history":
            found = {
                item.nested_key[0]: json.loads(item.value_json) for item in record.history.item
            }
            own = ("_runtime", "_timestamp")
            yield {name: value for name, value in found.items() if name not in own}


class TestServices:
    def test_wandb_keeps_an_offline_run_which_a_resumed_one_goes_on_with(self, tmp_path):
        serve("wandb", tmp_path, 1, 6, -1, WANDB_MODE="offline", WANDB_SILENT="true")
        serve("wandb", tmp_path, 4, 8, 3, WANDB_MODE="offline", WANDB_SILENT="true")
        files = sorted((tmp_path / "wandb").glob("offline-run-*/run-*.wandb"))
        run = json.loads((tmp_path / "wandb.json").read_text())
        assert run["step"] == 7
        assert {path.stem for path in files} == {f"run-{run['run']}"}
        points = [point for path in files for point in wandb_history(path)]
        name = "rollout/game:X-v0/return"
        assert points == [{"_step": step, name: step / 8} for step in range(1, 8)]

    def test_trackio_goes_on_with_a_resumed_run_and_has_each_step_once(self, tmp_path):
        base = tmp_path / "base"
        serve("trackio", tmp_path, 1, 6, -1, TRACKIO_DIR=str(base), TRACKIO_PROJECT="mine")
        serve("trackio", tmp_path, 4, 8, 3, TRACKIO_DIR=str(base), TRACKIO_PROJECT="mine")
        (path,) = base.glob("mine.db")
        connection = sqlite3.connect(path)
        rows = connection.execute("SELECT run_name, step, metrics FROM metrics").fetchall()
        connection.close()
        run = json.loads((tmp_path / "trackio.json").read_text())["run"]
        found = {(name, step): json.loads(metrics) for name, step, metrics in rows}
        assert len(rows) == 7
        assert found == {
            (run, step): {"rollout/game:X-v0/return": step / 8} for step in range(1, 8)
        }
        serve("trackio", tmp_path, 1, 2, -1, TRACKIO_DIR=str(base), TRACKIO_PROJECT="mine")
        assert json.loads((tmp_path / "trackio.json").read_text())["run"] != run


@pytest.mark.slow
def test_a_thousand_steps_stay_right_whatever_order_columns_come_in(tmp_path):
    rng, expected = random.Random(0), {}
    writers = opened(tmp_path, "csv")
    for step in range(1000):
        figures = {f"f{number}": rng.random() for number in range(step // 100 + 1)}
        writers.log(step, figures)
        for name, value in figures.items():
            expected.setdefault(name, ([], []))[0].append(step)
            expected[name][1].append(value)
    writers.close()
    assert read_metrics(tmp_path / "metrics.csv") == expected

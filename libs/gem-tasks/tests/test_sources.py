"""Rows come from lists, datasets, files and packages, are checked when read, and are shared."""

import gc
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gem_core.errors import ConfigError, DataError
from gem_tasks.rows import forget_rows

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True, scope="module")
def scratch_cache(datasets, tmp_path_factory):
    from gem_tasks.testing.fake_hub import FakeHub

    with FakeHub() as hub, hub.in_process(tmp_path_factory.mktemp("hugging-face")):
        yield


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows))
    else:
        from datasets import Dataset

        table = Dataset.from_list(rows)
        (table.to_csv if path.suffix == ".csv" else table.to_parquet)(str(path))
    return path


def seen(env):
    return [env.reset()[0] for _ in range(len(env.rows))]


class TestWhereRowsComeFrom:
    def test_rows_come_from_memory(self, datasets, make_sums, sums):
        for kind in (list, tuple, datasets.Dataset.from_list):
            env = make_sums(data=kind(sums(5)), shuffle=False)
            assert seen(env) == [f"{n} + {n}?" for n in range(5)]

    @pytest.mark.parametrize(
        "name", ["a.parquet", "a.jsonl", "a.json", "a.csv", "odd [1]*/a.jsonl"]
    )
    def test_rows_come_from_a_file(self, make_sums, sums, tmp_path, name):
        path = write(tmp_path / name, sums(5))
        for data in (path, str(path)):
            env = make_sums(data=data, shuffle=False)
            assert seen(env) == [f"{n} + {n}?" for n in range(5)]
            assert env.row == {"problem": "4 + 4?", "answer": "8"}

    def test_rows_come_from_several_files_and_globs(self, make_sums, sums, tmp_path):
        rows = sums(6)
        paths = [write(tmp_path / f"{n}.jsonl", rows[2 * n : 2 * n + 2]) for n in range(3)]
        for data in (paths, [str(path) for path in paths], str(tmp_path / "*.jsonl")):
            assert seen(make_sums(data=data, shuffle=False)) == [row["problem"] for row in rows]

    def test_files_have_a_version_that_changes_with_their_content(self, make_sums, sums, tmp_path):
        """The folder that they are in, and times, do not matter."""
        versions = {}
        for name, counts in (("one", [3]), ("same", [3]), ("other", [4]), ("two", [3, 4])):
            (tmp_path / name).mkdir()
            paths = [write(tmp_path / name / f"{n}.jsonl", sums(n)) for n in counts]
            _, info = make_sums(data=paths).reset()
            versions[name] = info["data_version"]
        assert versions["one"] == versions["same"]
        assert len(set(versions.values())) == 3
        assert "data_version" not in make_sums(data=sums(3)).reset()[1]

    def test_rows_come_from_a_split_in_a_directory(self, make_sums, sums, tmp_path):
        write(tmp_path / "train.jsonl", sums(5))
        write(tmp_path / "test.jsonl", sums(2))
        assert len(make_sums(data=tmp_path, split="test").rows) == 2
        with pytest.raises(
            DataError, match=r"several splits; choose one with split=: 'train', 'test'"
        ):
            make_sums(data=tmp_path)

    def test_rows_come_from_a_directory_of_save_to_disk(self, datasets, make_sums, sums, tmp_path):
        rows = datasets.Dataset.from_list(sums(5))
        for name, saved in (("rows", rows), ("splits", datasets.DatasetDict(train=rows))):
            saved.save_to_disk(str(tmp_path / name))
            assert len(make_sums(data=tmp_path / name).rows) == 5

    def test_rows_come_from_a_split_in_a_dict_of_datasets(self, datasets, make_sums, sums):
        splits = datasets.DatasetDict(
            train=datasets.Dataset.from_list(sums(3)), test=datasets.Dataset.from_list(sums(2))
        )
        assert len(make_sums(data=splits, split="test").rows) == 2
        with pytest.raises(DataError, match=r"no split 'tests' .* mean 'test'\? It has: 'train'"):
            make_sums(data=splits, split="tests")

    def test_rows_come_from_a_package(self, make_sums, sums, tmp_path, monkeypatch):
        package = tmp_path / "acme_sums_package"
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in sums(4))
        (package / "data").mkdir(parents=True)
        (package / "data" / "sample.jsonl").write_text(text.replace("unused", "\u2028") + "\n")
        (package / "__init__.py").write_text("")
        monkeypatch.syspath_prepend(tmp_path)
        env = make_sums(data="package://acme_sums_package/data/sample.jsonl", shuffle=False)
        assert seen(env) == [f"{n} + {n}?" for n in range(4)]
        with pytest.raises(DataError, match=r"There is no 'package://acme_sums_package/no.jsonl'"):
            make_sums(data="package://acme_sums_package/no.jsonl")
        with pytest.raises(DataError, match="No module named 'acme_no_package'"):
            make_sums(data="package://acme_no_package/no.jsonl")

    def test_an_environment_without_a_source_of_rows_is_an_error(self, make_sums):
        with pytest.raises(DataError, match=r"dataset_name='org/name' .* or data="):
            make_sums()

    @pytest.mark.parametrize("data", [7, b"rows", {"problem": []}, object()])
    def test_data_of_another_type_is_rejected(self, make_sums, data):
        with pytest.raises(DataError, match=r"data must be a path or a glob, .* got"):
            make_sums(data=data)

    def test_a_list_cannot_be_streamed(self, make_sums, sums):
        with pytest.raises(ConfigError, match="streaming=True works for"):
            make_sums(data=sums(3), streaming=True)


class TestBadPaths:
    def test_the_error_for_a_missing_file_suggests_near_names(self, make_sums, sums, tmp_path):
        write(tmp_path / "train.jsonl", sums(1))
        with pytest.raises(
            DataError, match=r"Did you mean 'train.jsonl'\? .* contains: train.jsonl"
        ):
            make_sums(data=tmp_path / "trian.jsonl")
        with pytest.raises(DataError, match=r"no file or directory .* contains: train.jsonl"):
            make_sums(data=str(tmp_path / "deep" / "*.parquet"))

    def test_the_error_for_an_unknown_format_lists_the_known_ones(self, make_sums, tmp_path):
        (tmp_path / "a.txt").write_text("x")
        with pytest.raises(DataError, match=r"\.parquet, \.jsonl.* got '\.txt'"):
            make_sums(data=tmp_path / "a.txt")

    def test_a_broken_file_is_named(self, make_sums, tmp_path):
        (tmp_path / "a.parquet").write_text("PAR2")
        with pytest.raises(DataError, match=r"a.parquet cannot be read: "):
            make_sums(data=tmp_path / "a.parquet")


class TestColumnsAndValues:
    @pytest.fixture
    def sources(self, datasets, tmp_path):
        return lambda rows: (
            rows,
            datasets.Dataset.from_list(rows),
            write(tmp_path / "a.parquet", rows),
        )

    def test_a_missing_column_says_which_exist(self, make_sums, sums, sources):
        for data in sources(sums(3)):
            with pytest.raises(DataError, match=r"'answers' .* mean 'answer'\? .*problem, answer"):
                make_sums(data=data, columns={"problem": str, "answers": str})

    def test_a_wrong_value_is_named_with_its_row(self, make_sums, sources):
        rows = [{"problem": "?", "answer": n} for n in range(2500)]
        rows[1777]["answer"] = None
        for data in sources(rows):
            with pytest.raises(
                DataError, match=r"Row 1777 of .*, column 'answer': expected int, got None"
            ):
                make_sums(data=data, columns={"problem": str, "answer": int})

    def test_a_long_value_is_shortened(self, make_sums):
        with pytest.raises(DataError, match=r"expected int, got 'xxx.*\.\.\. \(str\)\.$") as caught:
            make_sums(data=[{"problem": "x" * 10_000}], columns={"problem": int})
        assert len(str(caught.value)) < 200

    def test_values_are_not_converted(self, make_sums):
        for value, kind in [(1, str), ("1", int), (True, int), ("true", bool)]:
            with pytest.raises(DataError, match="expected"):
                make_sums(data=[{"problem": value}], columns={"problem": kind})

    def test_a_row_that_is_not_a_mapping_is_rejected(self, make_sums):
        with pytest.raises(
            DataError, match="Row 1 of data is not a mapping from columns to values"
        ):
            make_sums(data=[{"problem": "", "answer": ""}, ["problem", "answer"]])

    def test_empty_data_is_rejected(self, datasets, make_sums):
        for data in ([], datasets.Dataset.from_dict({"problem": [], "answer": []})):
            with pytest.raises(DataError, match="There are no rows in data"):
                make_sums(data=data)

    def test_an_answer_may_be_of_several_types(self, make_sums, tmp_path):
        values = ["x", 7, 0.5, True, ["a", "b"]]
        rows = [{"problem": str(value), "answer": value} for value in values]
        path = tmp_path / "a.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        for data in (rows, path):
            env = make_sums(data=data, shuffle=False)
            assert [env.rows[n]["answer"] for n in range(5)] == values

    def test_images_stay_as_they_are_stored(self, datasets, make_sums, tmp_path):
        from PIL import Image

        rows = [{"problem": "?", "images": [Image.new("RGB", (2, 2), (n, 0, 0))]} for n in range(3)]
        columns = {"problem": str, "images": list[dict]}
        for data in (datasets.Dataset.from_list(rows), write(tmp_path / "a.parquet", rows)):
            env = make_sums(data=data, columns=columns, shuffle=False)
            env.reset()
            (image,) = env.row["images"]
            assert image.keys() == {"bytes", "path"}
            assert image["bytes"].startswith(b"\x89PNG")
            assert env.fork().row == env.row


class TestSharing:
    def test_environments_share_rows_of_one_source(self, datasets, make_sums, sums, tmp_path):
        path = write(tmp_path / "a.parquet", sums(10))
        for data in (sums(10), datasets.Dataset.from_list(sums(10)), path):
            assert make_sums(data=data).rows is make_sums(data=data, shard="1/2").rows

    def test_environments_with_other_columns_have_other_rows(self, make_sums, sums):
        data = sums(10)
        assert make_sums(data=data).rows is not make_sums(data=data, columns={"problem": str}).rows

    def test_lists_of_equal_rows_are_not_confused(self, make_sums, sums):
        first = make_sums(data=sums(3))
        assert make_sums(data=sums(3)).rows is not first.rows

    def test_rows_in_memory_are_freed_with_their_last_environment(self, make_sums, sums):
        class Watched(list):
            pass

        import weakref

        data = Watched(sums(3))
        alive = weakref.ref(data)
        env = make_sums(data=data)
        del data, env
        gc.collect()
        assert alive() is None

    def test_a_list_that_grew_is_read_again(self, make_sums, sums):
        data = sums(3)
        first = make_sums(data=data)
        data.append({"problem": "?"})
        with pytest.raises(DataError, match="no column 'answer' in row 3"):
            make_sums(data=data)
        assert first.rows.data is data

    def test_a_file_that_changed_is_read_again(self, make_sums, sums, tmp_path):
        path = write(tmp_path / "a.jsonl", sums(3))
        first = make_sums(data=path)
        os.utime(write(path, sums(4)), (1, 1))
        assert len(make_sums(data=path).rows) == 4
        assert len(seen(first)) == 3

    def test_forgotten_rows_are_loaded_again(self, make_sums, sums, tmp_path):
        path = write(tmp_path / "a.jsonl", sums(3))
        first = make_sums(data=path)
        forget_rows()
        assert make_sums(data=path).rows is not first.rows

    def test_threads_that_construct_at_the_same_time_load_once(self, make_sums, sums, tmp_path):
        path = write(tmp_path / "a.parquet", sums(1000))
        with ThreadPoolExecutor(64) as pool:
            envs = list(pool.map(lambda _: make_sums(data=path), range(64)))
        assert len({id(env.rows) for env in envs}) == 1

    def test_threads_that_fail_together_all_get_the_error(self, make_sums, tmp_path):
        path = write(tmp_path / "a.parquet", [{"problem": "?"}])

        def try_it(_):
            with pytest.raises(DataError, match="no column 'answer'"):
                make_sums(data=path)

        with ThreadPoolExecutor(16) as pool:
            list(pool.map(try_it, range(16)))


def test_environments_of_one_file_share_its_memory(make_sums, sums, tmp_path):
    rows = [{**row, "problem": "?" * 500} for row in sums(10_000)]
    path = write(tmp_path / "a.parquet", rows)

    def make():
        env = make_sums(data=path)
        env.reset(seed=1)
        return env

    def megabytes():
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    first = make()
    before = megabytes()
    envs = [make() for _ in range(256)]
    assert megabytes() - before < 50, "copies of the rows are 1300 MB"
    assert envs[-1].rows is first.rows


def test_importing_tasks_imports_nothing_heavy(run_python):
    code = """
import sys, gem_tasks
heavy = ["datasets", "pyarrow", "numpy", "pydantic", "huggingface_hub", "socket"]
print([name for name in heavy if name in sys.modules])
"""
    assert run_python(code).strip() == "[]"


def test_rows_in_memory_are_read_without_datasets(run_python):
    code = """
import sys
from gem_tasks import Grade, TaskEnv

class Sums(TaskEnv):
    def question(self, row): return row["problem"]
    def grade(self, action): return Grade(0.0, False)
    def solution(self): return ""

Sums(data=[{"problem": "1 + 1?"}], columns={"problem": str}).reset()
print([name for name in ("datasets", "pyarrow", "numpy") if name in sys.modules])
"""
    assert run_python(code).strip() == "[]"

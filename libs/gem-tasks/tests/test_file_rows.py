"""What stands in a file arrives as written, and what cannot be read is named."""

import bz2
import csv
import gzip
import io
import json
import lzma
import tracemalloc
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gem_core.errors import DataError
from gem_tasks import Answer, file_rows
from gem_tasks.rows import forget_rows

COLUMNS = {"problem": str, "answer": Answer, "tests": Any}
texts = st.text(st.characters(codec="utf-8"), max_size=8)
answers = st.one_of(texts, st.integers(), st.floats(allow_nan=False, allow_infinity=False))
values = st.recursive(
    st.none() | st.booleans() | answers,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
filled = texts.map(lambda text: f"x{text}")
json_rows = st.fixed_dictionaries({"problem": texts, "answer": filled, "tests": values})
csv_rows = st.fixed_dictionaries({"problem": texts, "answer": filled, "tests": texts})
table_rows = st.fixed_dictionaries(
    {
        "problem": texts,
        "answer": filled,
        "tests": st.fixed_dictionaries(
            {"inputs": st.lists(st.lists(st.integers(0, 9))), "fn_name": st.none() | texts}
        ),
    }
)
once = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def jsonl(rows, **options):
    return "".join(json.dumps(row, **options) + "\n" for row in rows).encode()


def as_csv(rows):
    file = io.StringIO(newline="")
    table = csv.DictWriter(file, rows[0])
    table.writeheader()
    table.writerows(rows)
    return file.getvalue().encode()


WRITTEN = {
    "a.jsonl": jsonl,
    "b.jsonl": lambda rows: b"\xef\xbb\xbf\r\n" + jsonl(rows).replace(b"\n", b"\r\n\r\n"),
    "c.jsonl": lambda rows: jsonl(rows, ensure_ascii=False).removesuffix(b"\n"),
    "a.json": lambda rows: json.dumps(rows).encode(),
    "b.json": lambda rows: b"\xef\xbb\xbf\n " + json.dumps(rows, indent=2).encode() + b"\n",
    "c.json": lambda rows: json.dumps(rows, ensure_ascii=False).encode(),
    "a.jsonl.gz": lambda rows: gzip.compress(jsonl(rows)),
    "a.json.xz": lambda rows: lzma.compress(json.dumps(rows).encode()),
    "a.csv": as_csv,
    "b.csv": lambda rows: b"\xef\xbb\xbf" + as_csv(rows) + b"\r\n",
    "a.csv.bz2": lambda rows: bz2.compress(as_csv(rows)),
}


def rows_of(env):
    return [env.rows[number] for number in range(len(env.rows))]


def streamed(make_sums, count, **options):
    env = make_sums(columns=COLUMNS, streaming=True, shuffle=False, **options)
    return [(env.reset(), env.row)[1] for _ in range(count)]


def check_written(make_sums, tmp_path, rows, names):
    """Check that each file has these rows, to the type of each value."""
    forget_rows()
    expected = repr(rows_of(make_sums(data=rows, columns=COLUMNS)))
    for name in names:
        path = tmp_path / name
        path.write_bytes(WRITTEN[name](rows))
        assert repr(rows_of(make_sums(data=path, columns=COLUMNS))) == expected
        assert repr(streamed(make_sums, len(rows), data=path)) == expected


@given(rows=st.lists(json_rows, min_size=1, max_size=20))
@once
def test_rows_of_json_equal_the_rows_in_memory(make_sums, tmp_path, rows):
    check_written(make_sums, tmp_path, rows, [name for name in WRITTEN if "json" in name])


@given(rows=st.lists(csv_rows, min_size=1, max_size=20))
@once
def test_rows_of_csv_equal_the_rows_in_memory(make_sums, tmp_path, rows):
    check_written(make_sums, tmp_path, rows, [name for name in WRITTEN if "csv" in name])


@pytest.mark.slow
@given(rows=st.lists(table_rows, min_size=1, max_size=30))
@settings(once, max_examples=5)
def test_rows_of_a_parquet_file_equal_the_rows_in_memory(datasets, make_sums, tmp_path, rows):
    path = tmp_path / "a.parquet"
    datasets.Dataset.from_list(rows).to_parquet(str(path))
    forget_rows()
    assert rows_of(make_sums(data=path, columns=COLUMNS)) == rows


MIXED = [
    {"inputs": [["abc", 3]], "outputs": ["abcabcabc"], "fn_name": "f"},
    {"inputs": [["x", 1], [None, 2]], "outputs": [{"a": 1}, {"b": [2, "x"]}], "fn_name": "f"},
    {"inputs": [["", 0]], "outputs": [True, 0, 2.5], "fn_name": "g"},
]


@pytest.mark.slow
def test_json_that_datasets_writes_is_decoded_to_the_bottom(datasets, make_sums, tmp_path):
    rows = [{"problem": "?", "answer": "x", "tests": tests} for tests in MIXED]
    made = datasets.Dataset.from_list(rows, on_mixed_types="use_json")
    made.to_parquet(str(tmp_path / "a.parquet"))
    for data in (made, tmp_path / "a.parquet"):
        assert repr(rows_of(make_sums(data=data, columns=COLUMNS))) == repr(rows)
    assert streamed(make_sums, 3, data=tmp_path / "a.parquet") == rows


def test_integers_of_any_length_arrive(make_sums, tmp_path):
    long = str(Decimal(10**5000 + 7))
    for name, text in (("a.jsonl", "%s"), ("a.json", "[%s]")):
        path = tmp_path / name
        path.write_text(text % f'{{"problem": "?", "answer": [{long}, 2.5, 1e3], "tests": 1}}')
        env = make_sums(data=path, columns={"answer": list[int | float]})
        assert env.rows[0]["answer"] == [10**5000 + 7, 2.5, 1000.0]


def test_rows_of_several_files_follow_one_another(make_sums, sums, tmp_path):
    for number, part in enumerate((sums(7)[:3], sums(7)[3:4], sums(7)[4:])):
        (tmp_path / f"{number}.jsonl").write_bytes(jsonl(part))
    rows = make_sums(data=tmp_path / "*.jsonl", shuffle=False).rows
    assert [rows[number]["answer"] for number in range(7)] == [str(2 * n) for n in range(7)]
    (tmp_path / "1.jsonl").write_bytes(jsonl([{"problem": "?", "answer": None}]))
    with pytest.raises(DataError, match=r"Row 0 of .*1.jsonl, column 'answer': .* got None"):
        make_sums(data=tmp_path / "*.jsonl")


BROKEN = {
    "latin-1": ("a.jsonl", jsonl([{"a": 1}]) + b'{"a": "caf\xe9"}\n', r"Row 1 .* not UTF-8.*caf"),
    "latin-1 csv": ("a.csv", b"a\n1\ncaf\xe9\n", r"Row 1 .*line 3.* not UTF-8"),
    "latin-1 list": ("a.json", b'[{"a": 1},\n{"a": "\xe9"}]', r"line 2.* not UTF-8"),
    "cut line": ("a.jsonl", b'{"a": 1}\n\n{"a": 2}\n{"a": ', r"Row 2 .*line 4.* not JSON"),
    "cut list": ("a.json", b'[{"a": 1},\n {"a": 2}', r"Row 1 .*line 2.* neither ',' nor '\]'"),
    "cut value": ("a.json", b'[{"a": 1},\n {"a": ', r"Row 1 .*line 2.* not JSON"),
    "cut cell": ("a.csv", b'a,b\n1,2\n3,"4\n', r"Row 1 .*line 3.* not CSV: unexpected end"),
    "after the list": ("a.json", b'[{"a": 1}] [2]', "Row 0 .* neither"),
    "few cells": ("a.csv", b"a,b\n1,2\n3\n", r"Row 1 .* has 1 cells for 2 columns"),
    "many cells": ("a.csv", b"a,b\n1,2,3\n", r"Row 0 .* has 3 cells for 2 columns"),
    "duplicate header": ("a.csv", b"a,b,a\n1,2,3\n", "the columns 'a' twice"),
    "no object": ("a.jsonl", b'{"a": 1}\n[2]\n', r"Row 1 .* is not a JSON object: \[2\]"),
    "no object in a list": ("a.json", b'[{"a": 1}, "x"]', "Row 1 .* is not a JSON object: 'x'"),
    "repeated key": ("a.jsonl", b'{"a": 1}\n{"a": {"b": 1, "b": 2}}\n', r"Row 1 .*the key 'b' occ"),
    "repeated key in a list": ("a.json", b'[{"a": 1, "c": 0, "a": 2}]', r"Row 0 .*the key 'a' occ"),
    "no column": ("a.jsonl", b'{"a": 1}\n{"b": 1}\n', "no column 'a' in row 1 of .*a.jsonl"),
    "empty": ("a.jsonl", b"", "There are no rows in .*a.jsonl"),
    "empty list": ("a.json", b"[ ]\n", "There are no rows in .*a.json"),
    "header alone": ("a.csv", b"a,b\n", "There are no rows in .*a.csv"),
    "empty, compressed": ("a.csv.gz", gzip.compress(b""), "There are no rows in .*a.csv.gz"),
    "too deep": ("a.jsonl", b'{"a": ' + b"[" * 100_000, "Row 0 .* nested too deeply"),
    "not compressed": ("a.jsonl.gz", b'{"a": 1}\n', "a.jsonl.gz cannot be read: Not a gzipped"),
    "cut, compressed": ("a.csv.gz", gzip.compress(b"a\n1\n")[:-9], "a.csv.gz cannot be read"),
}


@pytest.mark.parametrize(("name", "content", "message"), BROKEN.values(), ids=list(BROKEN))
@pytest.mark.parametrize("streaming", [False, True])
def test_the_error_of_a_row_names_the_file_and_the_row(
    make_sums, tmp_path, name, content, message, streaming
):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=rf"(?s){message}") as caught:
        make_sums(data=tmp_path / name, columns={"a": Any}, streaming=streaming)
    assert name in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_large_file_stays_where_it_is_and_must_not_change(make_sums, sums, tmp_path, monkeypatch):
    path, count = tmp_path / "a.jsonl", 5_000
    path.write_bytes(jsonl([{**row, "note": "?" * 500} for row in sums(count)]))
    monkeypatch.setattr(file_rows, "SMALL", 1000)
    tracemalloc.start()
    env = make_sums(data=path, shuffle=False)
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert held < 1_000_000, "the file is 2.8 MB"
    assert [env.rows[number]["answer"] for number in (0, count - 1)] == ["0", str(2 * count - 2)]
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DataError, match=r"a.jsonl has changed since its rows were read"):
        env.reset()
    path.unlink()
    with pytest.raises(DataError, match=r"a.jsonl cannot be read any more"):
        env.reset()


@pytest.mark.slow
def test_a_directory_of_json_is_read_as_written(datasets, make_sums, tmp_path):
    rows = [{"problem": "?", "answer": "x", "tests": tests} for tests in MIXED]
    for name in ("train", "test"):
        (tmp_path / f"{name}.jsonl").write_bytes(jsonl(rows))
    env = make_sums(data=tmp_path, split="test", columns=COLUMNS)
    assert repr(rows_of(env)) == repr(rows)


def test_files_are_read_without_datasets(run_python, tmp_path):
    (tmp_path / "a.csv").write_text("problem\n025\n")
    code = f"""
import sys
from gem_tasks.row_source import RowSource, load_rows
rows = load_rows(RowSource(data={str(tmp_path / "a.csv")!r}), {{"problem": str}})
print(rows[0], [name for name in ("datasets", "pyarrow", "numpy") if name in sys.modules])
"""
    assert run_python(code).strip() == "{'problem': '025'} []"

"""Rows of a file are the rows in memory, for every environment that takes rows.

What a format cannot hold is left out:

- JSON holds no NaN and no infinity.
- CSV holds texts alone; tests are the text of their JSON.
- Parquet holds one type in each column, and integers of 64 bits. What ``datasets`` writes for
  values of mixed types is read in ``libs/gem-tasks/tests/test_file_rows.py``.
"""

import base64
import csv
import inspect
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from gem_core import make
from gem_core.api import find_envs
from gem_tasks import TaskEnv
from gem_tasks.dataset_env import DatasetEnv
from gem_tasks.dataset_spec import DatasetSpec

COUNT = 200
"""Rows of each file."""
TEXTS = (
    *("", " ", "NA", "null", "None", "nan", "true", "025", "00501", "12e3", "1e5", "1.50", "-0"),
    *("2020-01-01", "12:30", '{"a": 1}', "[1, 2]", '"', "'", "a,b", "a;b\tc", "=1+1", "\\n"),
    *(" two\nlines\r\n", "\r", "\u2028\x85\x0c", "caf\xe9 \u6f22 \U0001f600", "e\u0301", "\ufeff"),
)
NUMBERS = (
    *(0, 7, -1, 2**53 + 1, 2**63, -(2**64), 10**30, 10**4000),
    *(0.0, -0.0, 3.0, 0.1, 1e22, 1e-7, 5e-324, 1.7976931348623157e308),
)
DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
URL = f"data:image/png;base64,{base64.b64encode(DOT).decode()}"


def text(rng: Random) -> str:
    return rng.choice(TEXTS) + rng.choice(("", "", f" {rng.random()}", rng.choice(TEXTS)))


def single(rng: Random) -> Any:
    return rng.choice((text(rng), rng.choice(NUMBERS), rng.randrange(-99, 99), rng.random() < 0.5))


def value(rng: Random, depth: int = 3) -> Any:
    if depth == 0 or rng.random() < 0.5:
        return rng.choice((single(rng), None))
    inner = [value(rng, depth - 1) for _ in range(rng.randrange(4))]
    return inner if rng.random() < 0.5 else {text(rng): one for one in inner}


def calls(rng: Random) -> dict[str, Any]:
    count = range(rng.randint(1, 4))
    inputs = [[value(rng) for _ in range(rng.randrange(3))] for _ in count]
    return {"inputs": inputs, "outputs": [value(rng) for _ in count], "fn_name": "f"}


def answer(rng: Random) -> Any:
    filled = (f"{text(rng)}x", rng.choice(NUMBERS), rng.random() < 0.5)
    return rng.choice((*filled, [single(rng), *filled]))


def mixed(rng: Random, kind: str) -> Any:
    """Return a value of JSON."""
    match kind:
        case "question":
            return text(rng)
        case "answer":
            return answer(rng)
        case "test":
            return calls(rng)
    return [URL]


def typed(rng: Random, kind: str) -> Any:
    """Return a value of a column with one type."""
    match kind:
        case "question":
            return text(rng)
        case "answer":
            return [f"{text(rng)}x" for _ in range(rng.randint(1, 3))]
        case "test":
            inputs = [[rng.randrange(-(2**63), 2**63)] for _ in range(3)]
            outputs = [[0.5, -0.0, None], [], [1e22]]
            return {"inputs": inputs, "outputs": outputs, "fn_name": text(rng) + "f"}
    return [URL]


def flat(rng: Random, kind: str) -> str:
    """Return a text."""
    match kind:
        case "question":
            return text(rng)
        case "answer":
            return f"{text(rng)}x"
        case "test":
            return json.dumps(calls(rng))
    return URL


def drawn(columns: dict[str, str], draw: Callable[[Random, str], Any]) -> list[dict[str, Any]]:
    rng = Random(37)
    return [{name: draw(rng, kind) for name, kind in columns.items()} for _ in range(COUNT)]


def write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, rows[0])
        table.writeheader()
        table.writerows(rows)


def write_parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    datasets = pytest.importorskip("datasets", reason="pip install 'gem-tasks[datasets]'")
    datasets.Dataset.from_list(rows).to_parquet(str(path))


FORMATS: tuple[tuple[Callable[[Random, str], Any], dict[str, Callable[..., Any]]], ...] = (
    (
        mixed,
        {
            "json": lambda path, rows: path.write_text(json.dumps(rows, indent=1)),
            "jsonl": lambda path, rows: path.write_text("\n".join(map(json.dumps, rows))),
        },
    ),
    (flat, {"csv": write_csv, "parquet": write_parquet}),
    (typed, {"parquet": write_parquet}),
)
"""What the rows of some formats consist of, and what writes a file of each format."""


def families() -> Iterator[tuple[str, type[TaskEnv], Callable[..., Any]]]:
    """Yield the name and class of each environment that takes rows, and what makes one."""
    yield "hf", DatasetEnv, DatasetEnv
    for spec in find_envs("*"):
        kind = spec.load() if not isinstance(spec, DatasetSpec) else None
        if isinstance(kind, type) and issubclass(kind, TaskEnv):
            yield spec.id, kind, partial(make, spec.id)


def columns_of(kind: type[TaskEnv]) -> dict[str, str]:
    """Return what the columns hold, by the options that name them."""
    options = inspect.signature(kind).parameters
    kinds = ("question", "answer", "test", "image")
    return {options[f"{k}_key"].default: k for k in kinds if f"{k}_key" in options}


def played(made: Any) -> list[str]:
    """Return the rows that an environment has after its resets, to the type of each value."""
    with closing(made) as env:
        return [(env.reset(idx=number), repr(env.row))[1] for number in range(COUNT)]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::gem_tasks.golds.GoldWarning")
def test_rows_of_a_file_are_the_rows_in_memory(tmp_path: Path, subtests: Any) -> None:
    found = list(families())
    assert len(found) > 1, "only hf: the plugins are not installed"
    for name, kind, make_env in found:
        for draw, writers in FORMATS:
            rows = drawn(columns_of(kind), draw)
            expected = played(make_env(data=rows))
            for ending, write in writers.items():
                with subtests.test(f"{name}, {draw.__name__}, {ending}"):
                    path = tmp_path / f"{name.replace(':', '-')}-{draw.__name__}.{ending}"
                    write(path, rows)
                    assert played(make_env(data=path)) == expected

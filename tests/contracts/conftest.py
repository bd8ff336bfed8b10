"""Environments of the hub get generated rows, from one hub on loopback for each test process."""

import contextlib
import inspect
import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import Any

import pytest
from kinds import one_of_each_kind
from selection import thorough

from gem_core.api import find_envs
from gem_core.errors import EntryPointError
from gem_core.specs import EnvSpec

COUNT = 40
"""Rows of a split."""


def sums(number: int) -> tuple[str, Any]:
    return f"What is {number} + {3 * number}?", str(4 * number)


def words(number: int) -> tuple[str, Any]:
    name = f"Ada{'bcdfghjklm'[number % 10]}{'aeiou'[number % 5]}{number}"
    return f"Who wrote the book of number {number}?", name


def several_words(number: int) -> tuple[str, Any]:
    question, name = words(number)
    return question, [name, f"the {name} of old"]


def truths(number: int) -> tuple[str, Any]:
    return f"Bob is big. If Bob is big, he is {number}. Bob is {number + number % 2}.", (
        str(number % 2 == 0)
    )


def programs(number: int) -> tuple[str, Any]:
    inputs = [f"{n}\n" for n in range(number, number + 15)]
    outputs = [f"{n + number}\n" for n in range(number, number + 15)]
    return f"Read a number and print it with {number} added.", json.dumps(
        {"inputs": inputs, "outputs": outputs}
    )


TABLE: list[tuple[Callable[[EnvSpec], bool], Callable[[int], tuple[str, Any]]]] = [
    (lambda spec: spec.namespace == "logic", truths),
    (lambda spec: spec.kwargs["dataset_name"].endswith("/nq_open"), several_words),
    (lambda spec: str(spec.entry_point).startswith("gem_math."), sums),
    (lambda spec: str(spec.entry_point).startswith("gem_code."), programs),
    (lambda spec: True, words),
]
"""Which rows fit which environment; the first that fits."""


def rows_for(spec: EnvSpec) -> list[dict[str, Any]]:
    keys = {name: one.default for name, one in inspect.signature(spec.load()).parameters.items()}
    keys |= spec.kwargs
    if keys.get("tasks") == "rows":  # of repositories
        lines = files("gem_swe").joinpath("sample.jsonl").read_text("utf-8").splitlines()
        return [json.loads(line) for line in lines[::20]]
    answer_key = keys["answer_key" if "answer_key" in keys else "test_key"]
    make = next(make for fits, make in TABLE if fits(spec))
    rows = []
    for number in range(COUNT):
        question, answer = make(number)
        row = {keys["question_key"]: question, answer_key: answer}
        if "image_key" in keys:
            row[keys["image_key"]] = [picture(number)]
        rows.append(row)
    return rows


def picture(number: int) -> Any:
    from PIL import Image

    return Image.new("RGB", (8, 8), (number % 256, 0, 255))


@pytest.fixture(scope="session")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Serve rows for one environment of each kind that has a dataset; for all in a thorough run."""
    from gem_tasks.testing.fake_hub import FakeHub

    datasets: dict[str, dict[str, Any]] = defaultdict(dict)
    for spec in find_envs("*") if thorough() else one_of_each_kind():
        if "dataset_name" in spec.kwargs:
            split = spec.kwargs.get("split") or "train"
            with contextlib.suppress(EntryPointError):  # its own checks will say so
                datasets[spec.kwargs["dataset_name"]][split] = rows_for(spec)
    with FakeHub(datasets) as served, served.in_process(tmp_path_factory.mktemp("hugging-face")):
        yield

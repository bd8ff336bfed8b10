"""Rows, replies and tests at the edge, each of which once had a wrong reward.

``row_edges.jsonl`` has one case a line: its kind, the smallest input, and the right value.
"""

import csv
import json
import warnings
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from gem_core import make
from gem_core.errors import DataError
from gem_tasks.golds import GoldWarning

Case = dict[str, Any]
CASES = [
    json.loads(line)
    for line in Path(__file__).with_name("row_edges.jsonl").read_text(encoding="utf-8").splitlines()
]


def reward(family: str, data: Any, action: str, **options: Any) -> float:
    with closing(make(family, data=data, **options)) as env:
        env.reset(seed=0)
        return float(env.step(action).reward)


def programmed(tests: Any, action: str) -> float:
    return reward("code:Custom", [{"problem": "p", "tests": tests}], action)


def written(case: Case, folder: Path) -> Path:
    path = folder / f"rows.{case['file']}"
    with path.open("w", newline="", encoding="utf-8") as file:
        if case["file"] == "csv":
            table = csv.DictWriter(file, case["row"])
            table.writeheader()
            table.writerow(case["row"])
        else:
            file.write(json.dumps(case["row"]) + "\n")
    return path


def file_to_row(case: Case, folder: Path) -> None:
    for data in ([case["row"]], written(case, folder)):
        assert reward(case["family"], data, case["action"]) == case["reward"]


def gold(case: Case, folder: Path) -> None:
    data = [case["row"]] if case["file"] == "memory" else written(case, folder)
    if case["expected"] == "DataError":
        with pytest.raises(DataError, match="gold answer is empty"):
            reward(case["family"], data, case["action"])
        return
    with pytest.warns(GoldWarning, match="answer_after"):
        reward(case["family"], data, case["action"])
    with warnings.catch_warnings():
        warnings.simplefilter("error", GoldWarning)
        assert reward(case["family"], data, case["action"], answer_after="####") == 1.0


def fence(case: Case, _: Path) -> None:
    assert programmed({"inputs": [""], "outputs": ["3"]}, case["action"]) == 1.0


def long_integers(case: Case, _: Path) -> None:
    tests = {"inputs": [""], "outputs": [f"1{'0' * 5000}"]}
    assert programmed(tests, f"```python\n{case['stdout']}\n```") == 1.0
    assert programmed(tests, f"```python\n{case['stdout']}; print(1)\n```") == 0.0


def lines(case: Case, _: Path) -> None:
    tests = {"inputs": [""], "outputs": [case["expected_output"]]}
    action = f"```python\nprint({case['printed']!r}, end='')\n```"
    assert programmed(tests, action) == case["reward"]


def never_runs(case: Case, _: Path) -> None:
    with suppress(DataError):  # the row may be refused
        assert programmed(case["tests"], case["action"]) == 0.0


CHECKS: dict[str, Callable[[Case, Path], None]] = {
    "file to row": file_to_row,
    "gold that nobody can match": gold,
    "fence": fence,
    "long integers": long_integers,
    "lines": lines,
    "test that never runs": never_runs,
}


@pytest.mark.slow
def test_each_case_at_the_edge_has_its_value(tmp_path: Path, subtests: Any) -> None:
    assert {case["kind"] for case in CASES} == CHECKS.keys()
    for number, case in enumerate(CASES):
        with subtests.test(f"{case['kind']}, line {number + 1}"):
            folder = tmp_path / str(number)
            folder.mkdir()
            CHECKS[case["kind"]](case, folder)

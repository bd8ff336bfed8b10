"""The problems of the sample: their number and form, their tests, their solutions."""

import importlib.util
import json
import re
import sys
from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest
from selection import some

from gem_code.judge import Limits, judge
from gem_code.suites import read_suite
from gem_core import make

SCRIPT = Path(__file__).parents[1] / "scripts" / "make_sample.py"
TEXT = files("gem_code").joinpath("data/sample.jsonl").read_text(encoding="utf-8")
ROWS = [json.loads(line) for line in TEXT.splitlines()]


def test_there_are_many_problems_of_all_kinds():
    assert len({row["name"] for row in ROWS}) == len(ROWS) >= 50
    assert len({row["problem"] for row in ROWS}) == len(ROWS)
    assert min(Counter(row["level"] for row in ROWS).values()) >= 10
    assert min(Counter(row["topic"] for row in ROWS).values()) >= 5
    assert sum("fn_name" in row["tests"] for row in ROWS) >= 5


def test_each_problem_has_enough_tests_that_differ(subtests):
    for row in ROWS:
        with subtests.test(row["name"]):
            tests = row["tests"]
            inputs = {json.dumps(given) for given in tests["inputs"]}
            assert 8 <= len(inputs) == len(tests["inputs"]) == len(tests["outputs"]) <= 12
            (_, most), *_ = Counter(map(str, tests["outputs"])).most_common(1)
            assert most <= 0.75 * len(tests["outputs"])


@pytest.mark.slow
@pytest.mark.parametrize("row", some(ROWS), ids=lambda row: row["name"])
def test_the_solution_passes_and_a_constant_output_does_not(sandbox, row):
    suite = read_suite(row["tests"])
    assert judge(row["solution"], suite, sandbox=sandbox, limits=Limits()).failure is None
    output = row["tests"]["outputs"][0]
    name = row["tests"].get("fn_name")
    constant = f"def {name}(*_): return {output!r}" if name else f"print({output!r})"
    assert judge(constant, suite, sandbox=sandbox, limits=Limits()).failure is not None


def same_floats(rows):
    """Return rows as text; from Python 3.12 on, where sum() is more precise, floats are rounded."""
    digits = r"\d+\.\d{10,}" if sys.version_info >= (3, 12) else r"(?!)"
    return re.sub(digits, lambda found: f"{float(found[0]):.9f}", json.dumps(rows))


@pytest.mark.slow
def test_the_script_generates_the_shipped_file(monkeypatch):
    """The script checks every output of a reference against a second solution."""
    monkeypatch.setattr(sys, "path", [*sys.path])  # the script adds its own folder
    module_spec = importlib.util.spec_from_file_location("make_sample", SCRIPT)
    script = importlib.util.module_from_spec(module_spec)
    module_spec.loader.exec_module(script)
    made = [script.make_row(problem) for problem in script.PROBLEMS]
    assert same_floats(made) == same_floats(ROWS)


def test_the_oracle_solves_the_sample():
    env = make("code:Sample", shuffle=False)
    env.reset(idx=0)
    assert env.step(env.solution()).reward == 1.0
    assert len(env.rows) == len(ROWS)

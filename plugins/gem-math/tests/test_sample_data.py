"""The problems of the sample: their number and form, and solutions found from their texts alone."""

import importlib.util
import json
import re
from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest
from selection import some

from gem_tasks.parsing import last_boxed

SCRIPT = Path(__file__).parents[1] / "scripts" / "make_sample.py"
TEXT = files("gem_math").joinpath("data/sample.jsonl").read_text(encoding="utf-8")
ROWS = [json.loads(line) for line in TEXT.splitlines()]


def module_of(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def solutions():
    """The solutions, which need sympy."""
    return module_of(Path(__file__).with_name("independent_solutions.py"))


@pytest.mark.slow
def test_an_independent_solution_finds_the_same_answer(subtests, solutions):
    for row in some(ROWS):
        with subtests.test(row["problem"]):
            answer = re.sub(r"\\left|\\right", "", row["answer"])
            assert solutions.same(solutions.solve(row["problem"]), answer)


@pytest.mark.slow
def test_a_problem_is_well_formed(subtests):
    for row in ROWS:
        with subtests.test(row["problem"]):
            assert {key: type(text) for key, text in row.items()} == dict.fromkeys(
                ("problem", "answer", "level", "topic"), str
            )
            assert row["problem"].count("$") % 2 == 0
            assert row["problem"].count("{") == row["problem"].count("}")
            assert last_boxed(rf"\boxed{{{row['answer']}}}") == row["answer"]


def test_expanded_products_have_no_brackets():
    answers = [row["answer"] for row in ROWS if row["problem"].startswith("Expand")]
    assert answers
    assert not any("(" in answer for answer in answers)


def test_there_are_many_different_problems_of_all_levels_and_topics():
    assert len(ROWS) >= 120
    assert len({row["problem"] for row in ROWS}) == len(ROWS)
    levels = Counter(row["level"] for row in ROWS)
    assert set(levels) == {"easy", "medium", "hard"}
    assert min(levels.values()) >= 12
    assert len({row["topic"] for row in ROWS}) >= 10


@pytest.mark.slow
def test_every_solution_belongs_to_a_problem(solutions):
    problems = [row["problem"] for row in ROWS]
    for start in solutions.WRITTEN:
        assert sum(problem.startswith(start) for problem in problems) == 1
    for form in solutions.MADE:
        assert sum(bool(re.search(form, problem)) for problem in problems) == 3


def test_a_wrong_answer_is_detected(subtests, solutions):
    for solved, wrong in (
        (4, "5"),
        ({1, 2}, r"\{1\}"),
        ((2, 1), "(1, 2)"),
        (solutions.Interval(0, 1), "[0, 1)"),
        (solutions.Quantity(3, "cm"), r"3 \text{ m}"),
        (solutions.Matrix([[1]]), r"\begin{pmatrix} 2 \end{pmatrix}"),
    ):
        with subtests.test(wrong):
            assert not solutions.same(solved, wrong)


@pytest.mark.slow
def test_the_script_generates_the_shipped_file():
    script = module_of(SCRIPT)
    assert script.make_rows() == ROWS
    assert script.make_rows(seed=1) != ROWS

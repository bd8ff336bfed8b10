"""The rule-reasoning tasks of the sample, solved again from their English text.

This solver shares nothing with the generator: it parses the sentences and proves backwards from
the statement, while the generator decides forwards from the facts.
"""

import importlib.util
import json
import re
from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "make_logic.py"
WHO = r"(?P<who>[A-Z][a-z]+|the [a-z]+|someone|something|they|it)"
CLAUSE = re.compile(
    rf"{WHO} (?:(?:is|are) (?P<is_not>not )?(?P<what>[a-z]+)"
    rf"|(?P<not>(?:do|does) not )?(?P<verb>[a-z]+?)s? (?P<whom>[A-Z][a-z]+|the [a-z]+))"
)


@pytest.fixture(scope="module")
def rows():
    text = files("gem_qa").joinpath("data/logic_sample.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def read_clause(text):
    """Return (subject, predicate) and whether it is affirmed; a pronoun's subject is "x"."""
    found = CLAUSE.fullmatch(text)
    assert found, text
    who = "x" if found["who"] in {"someone", "something", "they", "it"} else found["who"]
    predicate = found["what"] or f"{found['verb']} {found['whom']}"
    return (who, predicate), not (found["is_not"] or found["not"])


def read(question):
    """Return facts, rules (conditions, conclusion), and the statement."""
    theory, _, rest = question.partition("\n\nStatement: ")
    facts, rules = set(), []
    for line in theory.splitlines():
        sentence = re.sub(r"^The ", "the ", line.removesuffix("."))
        if sentence.startswith("If "):
            before, after = sentence.removeprefix("If ").split(" then ")
            conditions = [read_clause(part) for part in before.split(" and ")]
            rules.append((conditions, read_clause(after)[0]))
        else:
            facts.add(read_clause(sentence)[0])
    statement = rest.splitlines()[0].removesuffix(".")
    return facts, rules, read_clause(re.sub(r"^The ", "the ", statement))


def holds(goal, facts, rules):
    return prove(goal, facts, rules)[0]


def prove(goal, facts, rules):
    """Return whether the goal holds, and the number of rules in the chain that decides it."""
    if goal in facts:
        return True, 0
    proofs, failures = [], [0]
    for conditions, (subject, predicate) in rules:
        if predicate != goal[1] or subject not in ("x", goal[0]):
            continue
        results = []
        for (who, what), affirmed in conditions:
            held, depth = prove((goal[0] if who == "x" else who, what), facts, rules)
            results.append((held == affirmed, depth))
        if all(held for held, _ in results):
            proofs.append(1 + max(depth for _, depth in results))
        else:
            failures.append(1 + min(depth for held, depth in results if not held))
    return (True, min(proofs)) if proofs else (False, max(failures))


@pytest.mark.slow
def test_the_answer_and_the_depth_follow_from_the_text(rows, subtests):
    for number, row in enumerate(rows):
        with subtests.test(row=number):
            facts, rules, (goal, affirmed) = read(row["question"])
            held, depth = prove(goal, facts, rules)
            assert row["answer"] == str(held == affirmed)
            assert row["depth"] == depth


def test_depths_answers_and_wordings_are_balanced(rows):
    cells = Counter()
    for row in rows:
        _, _, (_, affirmed) = read(row["question"])
        cells[row["depth"], row["answer"], affirmed] += 1
    assert set(cells) == {(d, a, s) for d in range(4) for a in ("True", "False") for s in (0, 1)}
    assert len(set(cells.values())) == 1
    assert len(rows) == sum(cells.values()) >= 100


def test_all_tasks_differ(rows):
    assert len({row["question"] for row in rows}) == len(rows)


def test_many_answers_depend_on_negation_as_failure(rows):
    """If negated conditions never held, these answers would differ."""
    changed = 0
    for row in rows:
        facts, rules, (goal, _) = read(row["question"])
        strict = [rule for rule in rules if all(affirmed for _, affirmed in rule[0])]
        changed += holds(goal, facts, rules) != holds(goal, facts, strict)
    assert changed >= len(rows) // 10


@pytest.mark.slow
def test_the_script_generates_the_shipped_file(rows):
    spec = importlib.util.spec_from_file_location("make_logic", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.make_rows() == rows
    assert script.make_rows(seed=1) != rows

"""Rows in the schemas of public datasets, written by us: gold answers are graded 1, others 0.

Each has what its dataset is known to have: thousands with commas in GSM8K, units and intervals in
the boxes of MATH, bodies without their heads in HumanEval, carriage returns, code before the tests
and a function named like one of Python in MBPP, nested columns in HotpotQA.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gem_tasks.data_command import command

GSM8K = [
    {
        "question": f"A mill grinds {n} sacks a day, for {days} days. How many sacks is that?",
        "answer": f"It grinds <<{n}*{days}={n * days}>>{n * days} sacks.\n#### {n * days:,}",
    }
    for n, days in [(3, 4), (250, 8), (1250, 1000), (-5, 3), (40, 40)]
]
MATH = [
    {
        "problem": f"Problem {number}.",
        "level": "Level 3",
        "type": "Algebra",
        "solution": rf"Thus the answer is \boxed{{{gold}}}, as it was to be shown.",
    }
    for number, gold in enumerate(
        [
            r"\frac{3}{4}",
            r"[-2, 5)",
            r"(-\infty, 0) \cup (1, \infty)",
            r"12 \text{ cm}^2",
            r"\text{Tuesday}",
            r"1{,}250",
            r"x^2 - 3x + \sqrt{2}",
            r"45^\circ",
            r"\$7.50",
            r"60\%",
            r"\begin{pmatrix} 1 & 0 \\ -2 & 3 \end{pmatrix}",
            "1011_2",
        ]
    )
]
HUMAN_EVAL = [
    {
        "task_id": "Own/0",
        "prompt": "from typing import List\n\n\ndef widest(gaps: List[float]) -> float:\n"
        '    """Return the widest gap.\n    >>> widest([1.0, 2.5])\n    2.5\n    """\n',
        "entry_point": "widest",
        "canonical_solution": "    return max(gaps, default=0.0)\n",
        "test": "\n\nMETADATA = {\n    'author': 'ours'\n}\n\n\ndef check(candidate):\n"
        "    assert candidate([1.0, 2.5]) == 2.5\n    assert candidate([]) == 0.0\n"
        "    assert abs(candidate([0.1]) - 0.1) < 1e-6\n\n",
    },
    {
        "task_id": "Own/1",
        "prompt": 'import math\n\n\ndef area(r):\n    """Return the area of a circle."""\n',
        "entry_point": "area",
        "canonical_solution": "    return math.pi * r * r\n",
        "test": "def check(candidate):\n    for r in range(1, 4):\n"
        "        assert candidate(r) > 3 * r * r, 'too small'\n    assert candidate(0) == 0\n",
    },
]
_NODE = (
    "class Node:\r\n\tdef __init__(self, value):\r\n\t\tself.value = value\r\n\t\tself.next = None"
)
MBPP = [
    {
        "task_id": 1,
        "text": "Write a function to count the nodes of a list.",
        "code": f"{_NODE}\r\ndef length(node):\r\n\treturn 1 + length(node.next) if node else 0",
        "test_list": ["assert length(first) == 2", "assert length(None) == 0"],
        "test_setup_code": "first = Node(1) \r\nfirst.next = Node(2)",
        "challenge_test_list": [],
    },
    {
        "task_id": 2,
        "text": "Write a python function to find the sum of the divisors that two numbers share.",
        "code": "def sum(a,b): \r\n    total = 0\r\n    for i in range (1,min(a,b)): \r\n"
        "        if (a % i == 0 and b % i == 0): \r\n            total += i \r\n    return total",
        "test_list": ["assert sum(8,12) == 7", "assert sum(9,6) == 4"],
        "test_setup_code": "",
        "challenge_test_list": [],
    },
]
HOTPOT = [
    {
        "id": f"ours{number}",
        "question": f"Which of the two was it, in case {number}?",
        "answer": answer,
        "type": "comparison",
        "level": "hard",
        "supporting_facts": {"title": ["A", "B"], "sent_id": [0, 1]},
        "context": {"title": ["A", "B"], "sentences": [["One."], ["Two.", " Three."]]},
    }
    for number, answer in enumerate(
        [
            "yes",
            "no",
            "Bren\u00e9 Vr\u00e1bel",
            "from 1986 to 2013",
            '"The Mill"',
            "9,984",
            "U.S. Route 9",
        ]
    )
]
SCHEMAS: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    "openai/gsm8k": (GSM8K, ["math:Custom", "question_key=question", "answer_after=####"]),
    "hendrycks/math": (MATH, ["math:Custom", "answer_key=solution"]),
    "openai/openai_humaneval": (
        HUMAN_EVAL,
        [
            *("code:Custom", "question_key=prompt", "test_key=test", "function_key=entry_point"),
            'solution_key=["prompt", "canonical_solution"]',
        ],
    ),
    "google-research-datasets/mbpp": (
        MBPP,
        [
            *("code:Custom", "question_key=text", "test_key=test_list", "solution_key=code"),
            *("setup_key=test_setup_code", "prompt={problem}\n{tests}"),
        ],
    ),
    "hotpotqa/hotpot_qa": (HOTPOT, ["qa:Custom"]),
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_rows_of_a_public_schema_are_graded_as_they_should_be(tmp_path: Path, name: str) -> None:
    rows, words = SCHEMAS[name]
    file = tmp_path / f"{name}.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    given = ["check", *words, f"dataset_name={name}", "--folder", str(tmp_path)]
    result = CliRunner().invoke(command, [*given, "--format", "json"])
    (report,) = json.loads(result.stdout)
    assert (report["state"], report["problem"]) == ("ok", ""), report
    assert report["rows"] == report["gold"]["right"] == report["wrong"]["right"] == len(rows)

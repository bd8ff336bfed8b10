r"""Makes a file of labelled pairs from public repositories, for ``run.py grading --pairs``.

The pairs are those of two libraries' tests, and the sampled answers of a third repository, read at
the commits below. They are not part of this repository. A pair whose answer has to be found in
prose is left out, as are pairs of tests of an option or of rounding, and equal texts. Pairs are
numbered in the order of the file, and the labels that are overruled are listed here by number.

Examples:
  git clone https://github.com/huggingface/Math-Verify /tmp/public/Math-Verify
  git clone https://github.com/NVIDIA-NeMo/Skills /tmp/public/Skills
  git clone https://github.com/QwenLM/Qwen2.5-Math /tmp/public/Qwen2.5-Math
  python benchmarks/grading/public_pairs.py /tmp/public /tmp/public/pairs.jsonl
  python benchmarks/run.py grading --pairs /tmp/public/pairs.jsonl --output /tmp/public
"""

import argparse
import ast
import json
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

_OVERRULED = {
    **dict.fromkeys((20, 53, 55, 58, 63, 68), "wrong: the sides of the chain differ"),
    **dict.fromkeys((84, 132, 202), "wrong: the values differ, or are the same"),
    166: "undecided: the question tells which numbers are meant",
    **dict.fromkeys((5, 6, 12), "convention: a comma separates values"),
    7: "convention: words around a number are not removed",
    **dict.fromkeys((87, 97, 102, 114), "convention: the order of points, not of lists, counts"),
}
"""Why the label of a pair does not count, by number."""

_COMMITS = {
    "Math-Verify": "5d148cfaaf99214c2e4ffb4bc497ab042c592a7a",
    "Skills": "8b18f3992854bcb668095228a146e214c567b370",
    "Qwen2.5-Math": "a45202bd16f1ec06f433442dc1152d0074773465",
}
_TESTS = ("all", "boxed", "numina_cases", "open_thoughts", "yujianll")
_LABELLED = (["gold", "pred", "expected"], ["gold", "pred", "result"])
_FORMULA = re.compile(
    r"(?<!\\)\$\$(.+?)(?<!\\)\$\$|(?<!\\)\$(.+?)(?<!\\)\$|\\\((.+?)\\\)|\\\[(.+?)\\\]", re.DOTALL
)
_MOST_WORDS = 3
"""Words of a text without a formula, above which it is prose."""


class _Row(NamedTuple):
    gold: str
    answer: str
    equal: bool
    category: str


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="has the clones")
    parser.add_argument("file", type=Path, help="the file of pairs to write")
    options = parser.parse_args()
    lines = [_line(number, *row) for number, row in enumerate(_pairs(options.folder), 1)]
    options.file.write_text("".join(lines), encoding="utf-8")
    print(f"{options.file}: {len(lines)} pairs, of which {len(_OVERRULED)} are overruled")


def _line(number: int, source: str, row: _Row) -> str:
    pair: dict[str, Any] = {"number": number, **row._asdict(), "set": source}
    if number in _OVERRULED:
        pair["overruled"] = _OVERRULED[number]
    return json.dumps(pair, ensure_ascii=False) + "\n"


def _pairs(folder: Path) -> Iterator[tuple[str, _Row]]:
    """Yield each pair of box contents once, with its source."""
    seen = set()
    for source, row in _rows(folder):
        gold, answer = _content(row.gold), _content(row.answer)
        if not gold or not answer or (gold, answer) in seen or gold == answer:
            continue
        seen.add((gold, answer))
        yield source, row._replace(gold=gold, answer=answer)


def _rows(folder: Path) -> Iterator[tuple[str, _Row]]:
    for name in _TESTS:
        tests = _text(folder, "Math-Verify", f"tests/test_{name}.py")
        yield from (("Math-Verify", row) for row in _of_tests(tests))
    for read, path in (
        (_of_tests, "tests/test_math_equal.py"),
        (_of_records, "nemo_skills/dataset/answer-judge/prepare.py"),
    ):
        yield from (("Skills", row) for row in read(_text(folder, "Skills", path)))
    samples = "evaluation/data/eval_rm_maj_example/math_cot_100.jsonl"
    yield from (
        ("Qwen2.5-Math", row) for row in _of_samples(_text(folder, "Qwen2.5-Math", samples))
    )


def _text(folder: Path, source: str, path: str) -> str:
    command = ["git", "-C", str(folder / source), "show", f"{_COMMITS[source]}:{path}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _of_tests(module: str) -> Iterator[_Row]:
    """Yield the rows of the parametrized tests of a module."""
    for test in ast.parse(module).body:
        if isinstance(test, ast.FunctionDef) and "precision" not in test.name:
            for decorator in test.decorator_list:
                if isinstance(decorator, ast.Call):
                    names = ast.literal_eval(decorator.args[0]).replace(" ", "").split(",")
                    yield from _of_test(test.name, names, _literals(decorator.args[1]))


def _literals(rows: ast.expr) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a list that need no computation."""
    for row in rows.elts if isinstance(rows, ast.List) else ():
        try:
            yield ast.literal_eval(row)
        except ValueError:
            continue


def _of_test(test: str, names: list[str], rows: Iterable[tuple[Any, ...]]) -> Iterator[_Row]:
    category = test.removeprefix("test_").replace("_", " ")
    if names in _LABELLED:
        yield from (_Row(gold, answer, bool(label), category) for gold, answer, label in rows)
    if names == ["output_pair"]:
        for answer, gold in rows:
            if gold is not None:
                yield _Row(str(gold), str(answer), "incorrect" not in test, category)


def _of_records(module: str) -> Iterator[_Row]:
    """Yield the records of the list that a module begins with."""
    for statement in ast.parse(module).body:
        if isinstance(statement, ast.Assign):
            for record in ast.literal_eval(statement.value):
                label = record["expected_judgement"].endswith("Yes")
                answers = record["expected_answer"], record["predicted_answer"]
                yield _Row(*answers, label, "answer judge")


def _of_samples(lines: str) -> Iterator[_Row]:
    """Yield the sampled answers, with the labels of the repository's grader."""
    for line in lines.splitlines():
        record = json.loads(line)
        for answer, label in zip(record["pred"], record["score"], strict=True):
            yield _Row(record["answer"], answer, label, "sampled answers")


def _content(text: str) -> str:
    """Return what a box would hold: a box's content, the only formula, or a short text."""
    if boxes := text.count("\\boxed"):
        return _boxed(text) if boxes == 1 else ""
    formulas = _FORMULA.findall(text)
    if formulas:
        return "".join(formulas[0]).strip() if len(formulas) == 1 else ""
    return text.strip() if len(re.findall(r"[^\W\d]{2,}", text)) <= _MOST_WORDS else ""


def _boxed(text: str) -> str:
    """Return the content of the box in a text, and an empty one if it does not end."""
    content, depth = text.split("\\boxed{", 1)[-1], 1
    for index, char in enumerate(content):
        depth += {"{": 1, "}": -1}.get(char, 0)
        if depth == 0:
            return content[:index].strip()
    return ""


if __name__ == "__main__":
    main()

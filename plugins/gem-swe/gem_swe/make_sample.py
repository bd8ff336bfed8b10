"""Draw the tasks that are shipped: ``python -m gem_swe.make_sample > sample.jsonl``."""

import json
import sys
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from gem_swe.bugs import Bug, difficulty_of, draw_bug
from gem_swe.edits import applied, patch_between
from gem_swe.features import Feature, features_in
from gem_swe.observations import Failure
from gem_swe.repository import REPOSITORIES, Repository, shipped
from gem_swe.statement import statement_of
from gem_swe.task import metadata_of

__all__ = ["sample_rows"]

_KINDS = ((14, 1), (3, 2))
"""How many bugs of each repository, and at how many places."""
_ANY = range(100)
_FEATURES = 3
_LISTED = 20
"""The number of failures in a row."""


def sample_rows() -> Iterator[dict[str, Any]]:
    """Yield the rows: 20 of each repository, all different."""
    for name in REPOSITORIES:
        yield from _rows(shipped(name))


def _rows(repository: Repository) -> Iterator[dict[str, Any]]:
    random = Random(f"swe sample {repository.name}")
    seen: set[tuple[Any, ...]] = set()
    for count, bugs in _KINDS:
        for _ in range(count):
            bug = draw_bug([repository], random, bugs=bugs, distances=_ANY)
            while bug.signature in seen:
                bug = draw_bug([repository], random, bugs=bugs, distances=_ANY)
            seen.add(bug.signature)
            yield _row_of_bug(bug, f"{repository.name}-{len(seen):02}", random.randrange(100))
    found = features_in(repository)
    for number, feature in enumerate(random.sample(found, _FEATURES), len(seen) + 1):
        yield _row_of_feature(feature, f"{repository.name}-{number:02}")


def _row_of_bug(bug: Bug, name: str, style: int) -> dict[str, Any]:
    return {
        "instance_id": name,
        "repo": bug.repository.name,
        "problem_statement": statement_of(bug, style=style),
        "bug_patch": patch_between(bug.repository.files, bug.files),
        "FAIL_TO_PASS": bug.failing,
        "hidden": bug.failing,
        "failures": _plain(bug.failures),
        "metadata": metadata_of(bug),
    }


def _plain(failures: Sequence[Failure]) -> list[dict[str, Any]]:
    """Return the first failures as plain values."""
    return [
        {
            "test": one.test,
            "expression": one.expression,
            "expected": one.expected,
            "got": one.got,
            "number": one.number,
        }
        for one in failures[:_LISTED]
    ]


def _row_of_feature(feature: Feature, name: str) -> dict[str, Any]:
    repository = feature.repository
    return {
        "instance_id": name,
        "repo": repository.name,
        "problem_statement": feature.statement,
        "bug_patch": patch_between(repository.files, applied(repository.files, [feature.edit])),
        "FAIL_TO_PASS": feature.failing,
        "hidden": feature.hidden,
        "failures": _plain(feature.failures),
        "metadata": {
            "repository": repository.name,
            "lines": repository.lines,
            "operators": ["missing function"],
            "bugs": 1,
            "distance": 0,
            "difficulty": difficulty_of(repository.lines, 0, 1),
        },
    }


def main() -> None:
    """Print the rows."""
    for row in sample_rows():
        sys.stdout.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()

"""The tasks that are shipped: ``sample.jsonl``, made by ``python -m gem_swe.make_sample``."""

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gem_swe.observations import Failure
from gem_swe.patches import patched
from gem_swe.repository import shipped
from gem_swe.task import SweTask, make_task

__all__ = ["SAMPLE", "sample_tasks", "task_of_sample"]

SAMPLE = Path(__file__).parent / "sample.jsonl"


@functools.cache
def sample_tasks() -> tuple[SweTask, ...]:
    """Return the tasks, in the order of the file."""
    return tuple(map(task_of_sample, map(json.loads, SAMPLE.read_text("utf-8").splitlines())))


def task_of_sample(row: Mapping[str, Any]) -> SweTask:
    """Return the task of a row.

    Args:
        row: The row; its repository is one that is shipped.

    Raises:
        ConfigError: Its patch does not fit the repository.
    """
    repository = shipped(row["repo"])
    return make_task(
        repository,
        row["instance_id"],
        changed=patched(repository.files, row["bug_patch"]),
        failing=tuple(row["FAIL_TO_PASS"]),
        hidden=tuple(row["hidden"]),
        failures=tuple(Failure(**one) for one in row["failures"]),
        statement=row["problem_statement"],
        metadata=row["metadata"],
    )

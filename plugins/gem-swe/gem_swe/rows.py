"""Rows of SWE-bench, SWE-Gym, SWE-smith and SWE-rebench: repositories in an image each.

A row has ``instance_id``, ``problem_statement``, ``FAIL_TO_PASS`` and ``PASS_TO_PASS`` (lists, or
lists as JSON), ``patch``, and ``test_patch`` with the tests. Rows of SWE-smith have no
``test_patch``: their ``patch`` makes the bug. The image is named by ``image_name`` or
``docker_image``, or by a pattern. Rows like those of ``swe:Sample`` need no image: their ``repo``
is shipped, and ``bug_patch`` makes the bug.
"""

import hashlib
import json
import os
import re
import threading
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gem_core.caches import cache_folder
from gem_core.errors import ConfigError, DataError
from gem_swe.observations import plain_text
from gem_swe.repository import REPOSITORIES
from gem_swe.sample import task_of_sample
from gem_swe.suites import PytestSuite
from gem_swe.task import WORKDIR, SweTask
from gem_tasks.row_source import RowSource, load_rows
from gem_tasks.rows import MissingColumnError, Rows
from gem_terminal.task import UnsupportedTaskError
from gem_workers.machine import MachineSpec

__all__ = ["COLUMNS", "RowTasks", "check_row", "rows_of", "task_of_row"]

COLUMNS: Mapping[str, Any] = {
    "instance_id": str,
    "problem_statement": str,
    "FAIL_TO_PASS": object,
}
"""The columns that rows must have, and their types."""
_OPTIONAL = (
    *(
        "PASS_TO_PASS",
        "bug_patch",
        "difficulty",
        "docker_image",
        "failures",
        "hidden",
        "image_name",
    ),
    *("metadata", "patch", "repo", "test_patch"),
)
_IMAGES = ("image_name", "docker_image")
_ACTIVATE = "source /opt/miniconda3/bin/activate testbed 2>/dev/null"
"""What the images of SWE-bench need, and others do not mind."""
_COMMAND = f"{_ACTIVATE}; python -m pytest"
_TEST = re.compile(r"(?![-/])[^\s:]+\.py(::.+)?")
_SECONDS = 1800.0
_DISK, _MEMORY = 4 << 30, 8 << 30
_STATEMENT = (
    "A repository is in {workdir}. This is an issue of it:\n\n{issue}\n\nMend it in the source. Do "
    "not change tests: those that are run in the end are others. What you change outside of source "
    "files does not count."
)
_DOCKERFILE = """\
FROM {image}
SHELL ["/bin/bash", "-c"]
WORKDIR {workdir}
{bug}RUN set -e; rm -rf .git; find . -name __pycache__ -prune -exec rm -rf {{}} +; \\
    git init -q; git add -A; \\
    git -c core.logAllRefUpdates=false -c user.name=gem-swe -c user.email=gem-swe@localhost \\
    commit -q -m 'The repository'
"""
_APPLY = "COPY bug.patch /bug.patch\nRUN git apply /bug.patch && rm /bug.patch\n"


def check_row(row: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the tests of a row that are to pass, and those that are to pass still.

    Raises:
        DataError: The row is malformed.
        UnsupportedTaskError: Its tests are not those of pytest.
    """
    is_ours = _is_of_ours(row)
    for name in ("hidden", "failures", "metadata") if is_ours else ("patch", "PASS_TO_PASS"):
        if row.get(name) is None:
            raise DataError(f"{row['instance_id']} has no {name!r}; it has: {', '.join(row)}.")
    if is_ours:
        return _tests(row, "FAIL_TO_PASS"), ()
    if plain_text(str(row["patch"])) != str(row["patch"]):
        raise DataError(f"{row['instance_id']}: its patch has lone surrogates.")
    failing, passing = (_tests(row, one) for one in ("FAIL_TO_PASS", "PASS_TO_PASS"))
    others = [one for one in (*failing, *passing) if not _TEST.fullmatch(one)]
    if not failing or others:
        what = f"{others[0]!r}" if others else "nothing in FAIL_TO_PASS"
        raise UnsupportedTaskError(
            f"{row['instance_id']}: {what} is not a test of pytest (path.py::name)."
        )
    return failing, passing


def task_of_row(row: Mapping[str, Any], *, image: str = "", command: str = "") -> SweTask:
    """Return the task of a row.

    Args:
        row: The row.
        image: The name of its image, in which ``{instance_id}`` is replaced, and ``{owner}`` and
            ``{name}``, the parts of the id in lower case before and after ``__``; empty for the
            column that names it.
        command: How pytest is called in the image; empty for ``python -m pytest`` in the
            environment of SWE-bench's images, if there is one.

    Raises:
        DataError: The row is malformed.
        UnsupportedTaskError: Its tests are not those of pytest.
    """
    failing, passing = check_row(row)
    if _is_of_ours(row):
        return task_of_sample(row)
    name = str(row["instance_id"])
    test_patch, patch = str(row.get("test_patch") or ""), str(row["patch"])
    suite = PytestSuite(patch=test_patch, tests=(*failing, *passing), command=command or _COMMAND)
    build = _build_folder(_image(row, image), "" if test_patch else patch)
    return SweTask(
        id=name,
        instruction=_STATEMENT.format(workdir=WORKDIR, issue=str(row["problem_statement"]).strip()),
        machine=MachineSpec(build=str(build), workdir=WORKDIR, disk=_DISK, memory=_MEMORY),
        verifier_timeout=_SECONDS,
        agent_timeout=_SECONDS,
        solution={
            "fix.patch": patch.encode(),
            "solve.sh": f"git apply {'' if test_patch else '-R '}/solution/fix.patch\n".encode(),
        },
        suite=suite,
        forgeable=suite.forgeable,
        fail_to_pass=failing,
        pass_to_pass=passing,
        metadata={"repository": str(row.get("repo", "")), "difficulty": row.get("difficulty")},
    )


def _is_of_ours(row: Mapping[str, Any]) -> bool:
    """Return whether a row is a bug of a repository that is shipped."""
    return row.get("repo") in REPOSITORIES and bool(row.get("bug_patch"))


def _tests(row: Mapping[str, Any], column: str) -> tuple[str, ...]:
    value = row[column]
    try:
        found = json.loads(value) if isinstance(value, str) else value
        return tuple(map(str, found))
    except (ValueError, TypeError) as error:
        raise DataError(
            f"{row['instance_id']}: {column} must be a list of tests; got {str(value)[:100]!r}."
        ) from error


def _image(row: Mapping[str, Any], pattern: str) -> str:
    name = str(row["instance_id"])
    if pattern:
        owner, _, rest = name.lower().partition("__")
        try:
            return pattern.format(instance_id=name, owner=owner, name=rest)
        except (LookupError, ValueError) as error:
            raise ConfigError(
                f"In image= only {{instance_id}}, {{owner}} and {{name}} are replaced; got "
                f"{pattern!r}."
            ) from error
    for column in _IMAGES:
        if row.get(column):
            named = str(row[column])
            if not re.fullmatch(r"\S+", named):
                raise DataError(f"{name}: {named!r} is not the name of an image.")
            return named
    raise DataError(
        f"{name}: no column names the image ({', '.join(_IMAGES)}). Give its name with image=, in "
        f"which {{instance_id}}, {{owner}} and {{name}} are replaced."
    )


def _build_folder(image: str, bug: str) -> Path:
    """Return a folder with a Dockerfile that leaves one commit, with the bug, in the image."""
    text = _DOCKERFILE.format(image=image, workdir=WORKDIR, bug=_APPLY if bug else "")
    digest = hashlib.sha256(f"{text}\0{bug}".encode()).hexdigest()[:24]
    folder = cache_folder("swe") / "images" / digest
    files = {"bug.patch": bug, "Dockerfile": text} if bug else {"Dockerfile": text}
    for name, content in files.items():
        if not (folder / name).is_file():
            folder.mkdir(parents=True, exist_ok=True)
            temporary = folder / f".{name}-{os.getpid()}-{threading.get_ident()}"
            temporary.write_text(content, "utf-8")
            temporary.replace(folder / name)
    return folder


def rows_of(source: RowSource, *, image: str = "", command: str = "") -> "RowTasks":
    """Return the tasks of the rows of a source; see ``RowTasks``."""
    columns = {**COLUMNS, **dict.fromkeys(_OPTIONAL, object)}
    while True:
        try:
            rows = load_rows(source, columns)
        except MissingColumnError as error:
            if error.column not in _OPTIONAL:
                raise
            del columns[error.column]
        else:
            break
    if not isinstance(rows, Rows):
        raise ConfigError("Rows with images cannot be streamed.")
    return RowTasks(rows, image=image, command=command)


class RowTasks(Sequence[SweTask]):
    """The tasks of rows, each made when it is asked for.

    Args:
        rows: The rows.
        image: See ``task_of_row``.
        command: See ``task_of_row``.

    Raises:
        DataError: A row is malformed.
        ConfigError: No row can be a task.
    """

    def __init__(self, rows: Rows, *, image: str = "", command: str = "") -> None:
        self._rows, self._image, self._command = rows, image, command
        self._numbers: list[int] = []
        refused: list[str] = []
        for number in range(len(rows)):
            try:
                check_row(rows[number])
            except UnsupportedTaskError as error:
                refused.append(str(error))
            else:
                self._numbers.append(number)
        if not self._numbers:
            first = f" The first: {refused[0]}" if refused else ""
            raise ConfigError(f"No row of {rows.origin} can be a task.{first}")
        if refused:
            warnings.warn(
                f"{len(refused)} of {len(rows)} rows of {rows.origin} are left out. The first: "
                f"{refused[0]}",
                stacklevel=2,
            )

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, number: Any) -> Any:
        row = self._rows[self._numbers[number]]
        return task_of_row(row, image=self._image, command=self._command)

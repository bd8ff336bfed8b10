"""A task of software engineering: a repository to be mended, and the tests that say it is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gem_swe.bugs import Bug
from gem_swe.hidden import without_tests
from gem_swe.observations import Failure
from gem_swe.one_commit import one_commit
from gem_swe.repository import Repository
from gem_swe.statement import statement_of
from gem_swe.suites import ProbeSuite, PytestSuite, Suite
from gem_terminal.task import TerminalTask
from gem_workers.machine import MachineSpec

__all__ = [
    "WORKDIR",
    "SweTask",
    "machine_files",
    "make_task",
    "metadata_of",
    "solution_files",
    "task_of_bug",
]

WORKDIR = "/testbed"
"""Where the repository is on the machine."""
_AGENT_SECONDS = 600.0
_VERIFIER_SECONDS = 60.0


@dataclass(frozen=True, kw_only=True)
class SweTask(TerminalTask):
    """A repository to be mended.

    Args:
        files: The files of the repository as the agent finds them, by path; empty if the image has
            them.
        source: The folders of its source, each with a slash at the end; ``("",)`` for all.
        suite: The tests that grade.
        fail_to_pass: The ids of the tests that fail, and pass in a mended repository.
        pass_to_pass: The ids of the tests that pass, and still do in a mended repository.
        failures: What fails before the agent has done anything, as far as it is known.
        concealed: Absolute paths that machines must not have, as what is to be written can be read
            there; see ``gem_swe.concealed``.
    """

    files: Mapping[str, bytes] = field(default_factory=dict)
    source: tuple[str, ...] = ("",)
    suite: Suite = field(default_factory=lambda: PytestSuite({}))
    fail_to_pass: tuple[str, ...] = ()
    pass_to_pass: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    concealed: tuple[str, ...] = ()

    def check_reward(self) -> None:
        """Accept the task: its suite grades it."""


def machine_files(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files of a machine that has a repository with one commit.

    Args:
        files: The files of the repository, by path.
    """
    return {
        f"{WORKDIR}/{path}": content for path, content in {**files, **one_commit(files)}.items()
    }


def solution_files(mended: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files of a solution that puts files into the repository.

    Args:
        mended: The content of files of the repository, by path.
    """
    lines = [f"cp '/solution/files/{path}' '{WORKDIR}/{path}'" for path in mended]
    script = "\n".join([*lines, ""]).encode()
    return {**{f"files/{path}": content for path, content in mended.items()}, "solve.sh": script}


def task_of_bug(bug: Bug, task_id: str, *, style: int = 0) -> SweTask:
    """Return the task of a bug.

    Args:
        bug: The bug.
        task_id: The name of the task.
        style: Which wording its statement has, any number.
    """
    return make_task(
        bug.repository,
        task_id,
        changed=bug.files,
        failing=bug.failing,
        hidden=bug.failing,
        failures=bug.failures,
        statement=statement_of(bug, style=style),
        metadata=metadata_of(bug),
    )


def metadata_of(bug: Bug) -> dict[str, Any]:
    """Return what is known of a bug, without where it is."""
    return {
        "repository": bug.repository.name,
        "lines": bug.repository.lines,
        "operators": [one.operator for one in bug.mutations],
        "bugs": len(bug.mutations),
        "distance": bug.distance,
        "difficulty": bug.difficulty,
    }


def make_task(
    repository: Repository,
    task_id: str,
    *,
    changed: Mapping[str, bytes],
    failing: tuple[str, ...],
    hidden: tuple[str, ...],
    failures: tuple[Failure, ...],
    statement: str,
    metadata: Mapping[str, Any],
) -> SweTask:
    """Return a task of a repository of ours.

    Args:
        repository: The repository as it should be.
        task_id: The name of the task.
        changed: Its files with what is to be mended.
        failing: The ids of the tests that fail.
        hidden: The ids of the tests that the agent does not see.
        failures: What fails in them; those that are shown first count.
        statement: What the agent is asked to do.
        metadata: What is known of it, with its ``difficulty``.
    """
    files = dict(changed)
    for path in repository.tests:
        files[path] = without_tests(path, files[path], hidden)
    right = {path: repository.files[path] for path in repository.source}
    return SweTask(
        id=task_id,
        instruction=statement,
        machine=MachineSpec(workdir=WORKDIR, files=machine_files(files)),
        verifier_timeout=_VERIFIER_SECONDS,
        agent_timeout=_AGENT_SECONDS,
        solution=solution_files({k: v for k, v in right.items() if changed[k] != v}),
        files=files,
        source=(f"{repository.name}/",),
        suite=ProbeSuite(repository.probed, repository.expected),
        fail_to_pass=failing,
        failures=failures,
        pass_to_pass=tuple(one for one in repository.expected if one not in failing),
        metadata=metadata,
    )

"""Tasks done with the tools of MCP servers and verified by a program."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from gem_core.errors import ConfigError, DataError
from gem_core.observation import Action, Info, Observation
from gem_core.records import json_value
from gem_tasks import Grade, TaskEnv
from gem_tasks.grader import GraderError
from gem_tools.mcpmark.services import Service, make_service
from gem_tools.mcpmark.taskset import find_tasks, folder_of
from gem_tools.mcpmark.verify import Verdict, missing_modules, package_of, verify

__all__ = ["SAMPLE_ENVIRONMENTS", "SAMPLE_TASKS", "MCPMarkEnv"]

SAMPLE_TASKS = "package://gem_tools/mcpmark/sample/tasks/filesystem"
SAMPLE_ENVIRONMENTS = "package://gem_tools/mcpmark/sample/environments"
_EXPECTED = "verify.py ends with status 0"
DONE = "Done."
"""The last message of a solution."""


class MCPMarkEnv(TaskEnv):
    """Shows the instruction of a task; the first step ends the episode and verifies the result.

    The environment does not run calls: a tool around it does, with servers that work on what
    ``env.places`` names. Each environment has its own of the service: a folder, a database. An
    episode starts with a fresh copy of the task's initial state in it, and snapshots and forks
    include it.

    The reward is 1.0 if the task was done, else 0.0. ``info`` has ``task_name``, and that of the
    step also ``correct`` (bool) and ``verification`` (the output of the program). A program that
    takes too long or fails by itself is a fault if it had not looked at the agent's work, and does
    so on an untouched copy of the initial state too; otherwise the reward is 0.0, and ``ended_by``
    says why.

    Args:
        tasks: Folder of the tasks, or ``package://package/folder``; see ``find_tasks``.
        environments: Folder with the initial state of each category; None if all start empty.
        select: ``all``, a category, or ``category/task``; several are separated by commas.
        context: Text after each instruction; ``{root}`` is replaced by the path of the folder, as
            are the other places of a service.
        service: Where the tasks take place: ``filesystem``, another id of ``gem-core list --kind
            task_services``, or ``module:Class``.
        verify_timeout: Seconds for a verification.
        shuffle: Use a new order of the tasks in each epoch; see ``TaskEnv``.
        shard: ``"i/n"``, the part of the tasks to use; see ``TaskEnv``.

    Raises:
        DataError: There are no tasks; or some cannot be done here, which the message lists: the
            service refuses them, or an initial state or a package is missing.
        ConfigError: No task is selected, or a parameter is out of range.
        NotInstalledError: What the service needs is not installed here.
    """

    blocking = True
    shared: ClassVar[tuple[str, ...]] = (
        "_context",
        "_environments",
        "_service_id",
        "_untouched",
        "_verify_timeout",
    )
    _service: Service

    def __init__(
        self,
        *,
        tasks: str | os.PathLike[str] = SAMPLE_TASKS,
        environments: str | os.PathLike[str] | None = SAMPLE_ENVIRONMENTS,
        select: str = "all",
        context: str = "",
        service: str = "filesystem",
        verify_timeout: float = 90.0,
        shuffle: bool = True,
        shard: str | None = None,
    ) -> None:
        if not verify_timeout > 0:
            raise ConfigError(f"verify_timeout must be more than 0; got {verify_timeout!r}.")
        self._environments = (
            None if environments is None else folder_of(environments, must_exist=False)
        )
        self._context = context
        self._service_id = service
        self._verify_timeout = verify_timeout
        self._untouched: dict[str, Verdict] = {}
        rows = find_tasks(folder_of(tasks), select)
        own = make_service(service, self._environments)
        try:
            _check_rows(own, rows)
            super().__init__(
                columns={"name": str, "category": str, "folder": str, "service": str},
                data=rows,
                shuffle=shuffle,
                shard=shard,
            )
        except BaseException:
            own.close()
            raise
        self._service = own

    @property
    def places(self) -> Mapping[str, str]:
        """What the placeholders of servers stand for, such as ``root``; they do not change."""
        return self._service.places

    @property
    def root(self) -> Path:
        """The folder in which tasks take place, of a service that has one."""
        return Path(self.places["root"])

    @property
    def servers(self) -> Mapping[str, Any]:
        """The agent's servers of this service; see ``TaskTools``."""
        return self._service.servers

    def start(self, *, idx: int | None = None) -> tuple[Observation, Info]:
        """Set up the next task, or task ``idx``.

        Raises:
            ConfigError: There is no task ``idx``.
            DataError: The initial state of the task cannot be set up.
        """
        observation, info = super().start(idx=idx)
        self._service.set_up(self.row)
        return observation, {**info, "task_name": self.row["name"]}

    @property
    def _program(self) -> Path:
        return Path(self.row["folder"]) / "verify.py"

    def question(self, row: dict[str, Any]) -> Observation:
        text = (Path(row["folder"]) / "description.md").read_text(encoding="utf-8").strip()
        context = self._context
        for name, place in self.places.items():
            context = context.replace(f"{{{name}}}", place)
        return f"{text}\n\n{context}".strip()

    def task_id(self, row: dict[str, Any]) -> str:
        """Return the task's category and name, which do not depend on where its folder is."""
        return f"{row['category']}/{row['name']}"

    def grade(self, action: str) -> Grade:
        with self._service.copy_for_verification() as work:
            objection = work.objection()
            verdict = (
                Verdict(False, objection, objection, has_looked=True)
                if objection
                else verify(self._program, work, answer=action, timeout=self._verify_timeout)
            )
        info = {"task_name": self.row["name"], "verification": verdict.output}
        if verdict.problem:
            self._check_problem(verdict)
            info["ended_by"] = verdict.problem
        reason = verdict.problem or verdict.output.strip() or "verify.py printed nothing"
        return Grade(float(verdict.correct), verdict.correct, info, reason, _EXPECTED)

    def _check_problem(self, verdict: Verdict) -> None:
        """Raise ``GraderError`` if the program fails whatever an agent has done.

        A program that has looked at the agent's work may fail because of it, and an agent that does
        nothing leaves what an untouched copy has.
        """
        if verdict.missing_module in missing_modules(self._program, later=True):
            raise GraderError(_needs(self.row, "verify.py", [verdict.missing_module]))
        if not verdict.has_looked and self._untouched_verdict().problem == verdict.problem:
            raise GraderError(
                f"verify.py of the task {self.row['name']!r} fails without an agent too: "
                f"{verdict.problem}"
            )

    def _untouched_verdict(self) -> Verdict:
        """Return the verdict on the initial state, which is found once for each task."""
        folder = self.row["folder"]
        if folder not in self._untouched:
            with self._service.untouched(self.row) as work:
                self._untouched[folder] = verify(
                    self._program, work, answer="", timeout=self._verify_timeout
                )
        return self._untouched[folder]

    def feedback(self, grade: Grade) -> str:
        return "The task is done." if grade.correct else "The task is not done."

    def solution(self) -> str:
        """Return the last message of the solution; ``script`` returns the calls before it.

        Raises:
            DataError: The task has no solution.
        """
        return next((str(one["message"]) for one in self._oracle() if "message" in one), DONE)

    def script(self) -> list[dict[str, Any]]:
        """Return the calls of the solution, each with ``name`` and ``arguments``.

        Raises:
            DataError: The task has no solution.
        """
        return [one for one in self._oracle() if "name" in one]

    def _oracle(self) -> list[dict[str, Any]]:
        """Return ``oracle.json``: calls, and perhaps the last message: ``{"message": ...}``."""
        path = Path(self.row["folder"]) / "oracle.json"
        if not path.is_file():
            raise DataError(f"The task {self.row['name']!r} has no oracle.json.")
        try:
            calls: list[dict[str, Any]] = json_value(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise DataError(f"{str(path)!r} is not JSON: {error}.") from error
        return calls

    def sample_random_action(self) -> Action:
        return self.action_rng.choice([DONE, "I have finished the task.", "The task is done."])

    def get_state(self) -> dict[str, Any]:
        """Return the state, including what the agent has made of the task's."""
        state = super().get_state()
        del state["_service"]
        return {**state, "packed": self._service.pack()}

    def set_state(self, state: dict[str, Any]) -> None:
        """Take over a state; what the agent has made goes into this environment's own place."""
        own = dict(state)
        packed = own.pop("packed")
        service = self.__dict__.get("_service")
        super().set_state(own)
        self._service = service or make_service(self._service_id, self._environments)
        self._service.unpack(packed)

    def close(self) -> None:
        """Delete the folder, database or site."""
        self._service.close()
        super().close()


def _check_rows(service: Service, rows: Sequence[Mapping[str, Any]]) -> None:
    """Check that the service can do all tasks, before the first episode.

    Raises:
        DataError: It cannot; the message lists the tasks that it refuses, the missing states, and
            the packages that programs need.
    """
    problems = [problem for row in rows if (problem := _problem(service, row))]
    if len(problems) > 1:
        problems.append(
            f"{len(problems)} of {len(rows)} tasks cannot be done; choose with select=."
        )
    if problems:
        raise DataError("\n".join(problems))


def _problem(service: Service, row: Mapping[str, Any]) -> str:
    """Return why a task cannot be done; empty if it can."""
    needed = row["service"].split()
    if service.name and needed and service.name not in needed:
        return f"The task {row['name']!r} needs service={needed[0]!r}, not {service.name!r}."
    if refusal := service.refusal(row):
        return f"The task {row['name']!r} cannot be done here: {refusal}"
    try:
        service.state_of(row)
        for program in service.programs:
            _check_program(row, program)
    except DataError as error:
        return str(error)
    return ""


def _check_program(row: Mapping[str, Any], program: str) -> None:
    path = Path(row["folder"]) / program
    try:
        missing = missing_modules(path) if path.is_file() else []
    except (SyntaxError, ValueError) as error:
        raise DataError(
            f"{program} of the task {row['name']!r} is not a Python program: {error}."
        ) from error
    if missing:
        raise DataError(_needs(row, program, missing))


def _needs(row: Mapping[str, Any], program: str, missing: Sequence[str]) -> str:
    packages = " ".join(map(package_of, missing))
    return (
        f"{program} of the task {row['name']!r} needs {', '.join(missing)}, which is not installed "
        f"here: pip install {packages}."
    )

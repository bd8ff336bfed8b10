"""Tasks done with the tools of MCP servers and verified by a program."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from gem_core.errors import ConfigError, DataError
from gem_core.observation import Action, Info, Observation
from gem_core.records import json_value
from gem_tasks import Grade, TaskEnv
from gem_tasks.grader import GraderError
from gem_tools.mcpmark.taskset import find_tasks, folder_of
from gem_tools.mcpmark.verify import Verdict, missing_modules, package_of, verify
from gem_tools.mcpmark.workspace import Workspace

__all__ = ["SAMPLE_ENVIRONMENTS", "SAMPLE_TASKS", "MCPMarkEnv"]

SAMPLE_TASKS = "package://gem_tools/mcpmark/sample/tasks/filesystem"
SAMPLE_ENVIRONMENTS = "package://gem_tools/mcpmark/sample/environments"
_EXPECTED = "verify.py ends with status 0"
DONE = "Done."
"""The last message of a solution."""


class MCPMarkEnv(TaskEnv):
    """Shows the instruction of a task; the first step ends the episode and verifies the result.

    The environment does not run calls: a tool around it does, with servers that work on
    ``env.root``. Each environment has its own folder. An episode starts with a fresh copy of the
    task's initial state in it, and snapshots and forks include it.

    For tasks of other services (a database, a web site), override ``set_up`` in a subclass.

    The reward is 1.0 if the task was done, else 0.0. ``info`` has ``task_name``, and that of the
    step also ``correct`` (bool) and ``verification`` (the output of the program). A program that
    takes too long or fails by itself is a fault if it had not looked at the agent's work, and does
    so on an untouched copy of the initial state too; otherwise the reward is 0.0, and ``ended_by``
    says why.

    Args:
        tasks: Folder of the tasks, or ``package://package/folder``; see ``find_tasks``.
        environments: Folder with the initial state of each category; None if all start empty.
        select: ``all``, a category, or ``category/task``.
        context: Text after each instruction; ``{root}`` is replaced by the path of the folder.
        verify_timeout: Seconds for a verification.
        shuffle: Use a new order of the tasks in each epoch; see ``TaskEnv``.
        shard: ``"i/n"``, the part of the tasks to use; see ``TaskEnv``.

    Raises:
        DataError: There are no tasks, or a folder is missing.
        ConfigError: No task is selected, or a parameter is out of range.
    """

    blocking = True
    shared: ClassVar[tuple[str, ...]] = (
        "_context",
        "_environments",
        "_untouched",
        "_verify_timeout",
    )
    _workspace: Workspace

    def __init__(
        self,
        *,
        tasks: str | os.PathLike[str] = SAMPLE_TASKS,
        environments: str | os.PathLike[str] | None = SAMPLE_ENVIRONMENTS,
        select: str = "all",
        context: str = "",
        verify_timeout: float = 90.0,
        shuffle: bool = True,
        shard: str | None = None,
    ) -> None:
        if not verify_timeout > 0:
            raise ConfigError(f"verify_timeout must be more than 0; got {verify_timeout!r}.")
        self._environments = None if environments is None else folder_of(environments)
        self._context = context
        self._verify_timeout = verify_timeout
        self._untouched: dict[str, Verdict] = {}
        super().__init__(
            columns={"name": str, "category": str, "folder": str},
            data=find_tasks(folder_of(tasks), select),
            shuffle=shuffle,
            shard=shard,
        )
        self._workspace = Workspace()

    @property
    def root(self) -> Path:
        """The folder in which tasks take place; it does not change."""
        return self._workspace.path

    def start(self, *, idx: int | None = None) -> tuple[Observation, Info]:
        """Set up the next task, or task ``idx``.

        Raises:
            ConfigError: There is no task ``idx``.
            DataError: The initial state of the task is missing, or a module that its program
                imports.
        """
        observation, info = super().start(idx=idx)
        self._check_program()
        self.set_up(self.row)
        return observation, {**info, "task_name": self.row["name"]}

    def set_up(self, row: dict[str, Any]) -> None:
        """Set up the initial state of a task.

        Raises:
            DataError: The state is missing.
        """
        self._workspace.fill(self._source(row))

    def _source(self, row: dict[str, Any]) -> Path | None:
        if self._environments is None:
            return None
        source = self._environments / str(row["category"])
        if not source.is_dir():
            raise DataError(
                f"The task {row['name']!r} starts from {str(source)!r}, which is missing."
            )
        return source

    @property
    def _program(self) -> Path:
        return Path(self.row["folder"]) / "verify.py"

    def _check_program(self) -> None:
        name = self.row["name"]
        try:
            missing = missing_modules(self._program)
        except (SyntaxError, ValueError) as error:
            raise DataError(
                f"verify.py of the task {name!r} is not a Python program: {error}."
            ) from error
        if missing:
            raise DataError(self._needs(missing))

    def _needs(self, missing: Sequence[str]) -> str:
        packages = " ".join(map(package_of, missing))
        return (
            f"verify.py of the task {self.row['name']!r} needs {', '.join(missing)}, which is not "
            f"installed here: pip install {packages}."
        )

    def question(self, row: dict[str, Any]) -> Observation:
        text = (Path(row["folder"]) / "description.md").read_text(encoding="utf-8").strip()
        context = self._context.replace("{root}", str(self.root))
        return f"{text}\n\n{context}".strip()

    def task_id(self, row: dict[str, Any]) -> str:
        """Return the task's category and name, which do not depend on where its folder is."""
        return f"{row['category']}/{row['name']}"

    def grade(self, action: str) -> Grade:
        verdict = verify(self._program, self.root, answer=action, timeout=self._verify_timeout)
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
            raise GraderError(self._needs([verdict.missing_module]))
        if not verdict.has_looked and self._untouched_verdict().problem == verdict.problem:
            raise GraderError(
                f"verify.py of the task {self.row['name']!r} fails without an agent too: "
                f"{verdict.problem}"
            )

    def _untouched_verdict(self) -> Verdict:
        """Return the verdict on the initial state, which is found once for each task."""
        folder = self.row["folder"]
        if folder not in self._untouched:
            workspace = Workspace()
            try:
                workspace.fill(self._source(self.row))
                self._untouched[folder] = verify(
                    self._program, workspace.path, answer="", timeout=self._verify_timeout
                )
            finally:
                workspace.close()
        return self._untouched[folder]

    def feedback(self, grade: Grade) -> str:
        return "The task is done." if grade.correct else "The task is not done."

    def solution(self) -> str:
        """Return the last message of the solution; ``script`` returns the calls before it."""
        return DONE

    def script(self) -> list[dict[str, Any]]:
        """Return the calls of the solution: ``oracle.json``, a list of name and arguments.

        Raises:
            DataError: The task has no solution.
        """
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
        """Return the state, including all files of the folder."""
        state = super().get_state()
        del state["_workspace"]
        return {**state, "files": self._workspace.pack()}

    def set_state(self, state: dict[str, Any]) -> None:
        """Take over a state; the files go into this environment's own folder."""
        own = dict(state)
        files = own.pop("files")
        workspace = self.__dict__.get("_workspace") or Workspace()
        super().set_state(own)
        self._workspace = workspace
        workspace.unpack(files)

    def close(self) -> None:
        """Delete the folder."""
        self._workspace.close()
        super().close()

"""The folder that ``gem-core swe make`` writes: tasks as rows, and the repository they are of."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gem_core.errors import ConfigError, DataError
from gem_swe.hidden import without_tests
from gem_swe.observations import Failure
from gem_swe.patches import patched
from gem_swe.python_environment import PythonEnvironment
from gem_swe.suites import PytestSuite
from gem_swe.task import WORKDIR, SweTask, machine_files, solution_files
from gem_workers.machine import MachineSpec

__all__ = ["COMMAND", "MadeFolder", "hidden_files", "is_made_folder", "spec_of", "with_folders"]

_TASKS, _ABOUT, _FILES = "tasks.jsonl", "repository.json", "repository"
COMMAND = "python -m pytest"
"""How the tests of a repository are run."""
_SECONDS = 900.0
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_MEMORY = 4 << 30


def is_made_folder(path: object) -> bool:
    """Return whether a path is that of a folder with tasks of a repository."""
    return isinstance(path, str | Path) and Path(path).expanduser().joinpath(_ABOUT).is_file()


def spec_of(files: Mapping[str, bytes], environment: PythonEnvironment) -> MachineSpec:
    """Return the specification of a machine with a repository and its Python.

    Args:
        files: The files of the repository, by path.
        environment: Its Python, which ``python`` is there.
    """
    env = {"PATH": f"{Path(environment.python).parent}:{_PATH}"}
    if any(path.startswith("src/") for path in files):
        env["PYTHONPATH"] = f"{WORKDIR}/src"
    return MachineSpec(workdir=WORKDIR, files=machine_files(files), env=env, memory=_MEMORY)


def with_folders(
    machine: str | Mapping[str, Any], folders: Sequence[str]
) -> str | Mapping[str, Any]:
    """Return a provider with folders of this host, if it is ``local``.

    Args:
        machine: The id of a provider, or a mapping with an ``id`` and parameters.
        folders: The folders, which machines get at the same paths.
    """
    given: dict[str, Any] = {"id": machine} if isinstance(machine, str) else dict(machine)
    if given.get("id") != "local":
        return machine
    return {
        **given,
        "folders": {**dict(zip(folders, folders, strict=True)), **given.get("folders", {})},
    }


@dataclass(frozen=True)
class MadeFolder:
    """Tasks of a repository.

    Args:
        path: The folder.
        environment: The Python that its tests need.
        folders: The folders in which an agent may change source, each with a slash at the end.
        tests: The paths of its test files.
        concealed: What machines must not show, see ``gem_swe.concealed``.
        options: How the bugs are made; a later run must ask for the same.
    """

    path: Path
    environment: PythonEnvironment
    folders: tuple[str, ...]
    tests: tuple[str, ...]
    concealed: tuple[str, ...]
    options: Mapping[str, Any]

    @classmethod
    def read(cls, path: str | Path) -> "MadeFolder":
        """Return what is in a folder.

        Raises:
            ConfigError: It is not such a folder.
        """
        folder = Path(path).expanduser()
        try:
            about = json.loads((folder / _ABOUT).read_text("utf-8"))
            return cls(
                path=folder,
                environment=PythonEnvironment.from_dict(about["environment"]),
                folders=tuple(map(str, about["folders"])),
                tests=tuple(map(str, about["tests"])),
                concealed=tuple(map(str, about["concealed"])),
                options=about["options"],
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ConfigError(
                f"{folder / _ABOUT} cannot be read ({type(error).__name__}: {error}). Make the "
                f"folder with gem-core swe make."
            ) from error

    def write(self, files: Mapping[str, bytes]) -> None:
        """Write the repository, and what is known of it.

        Args:
            files: Content by path.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            place = self.path / _FILES / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        about = {
            "environment": self.environment.to_dict(),
            "folders": list(self.folders),
            "tests": list(self.tests),
            "concealed": list(self.concealed),
            "options": dict(self.options),
        }
        (self.path / _ABOUT).write_text(json.dumps(about, indent=2) + "\n", "utf-8")

    def files(self) -> dict[str, bytes]:
        """Return the files of the repository as it should be."""
        top = self.path / _FILES
        return {
            str(one.relative_to(top)): one.read_bytes()
            for one in sorted(top.rglob("*"))
            if one.is_file()
        }

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows; a last line that was cut off is left out.

        Raises:
            DataError: Another line is malformed.
        """
        place = self.path / _TASKS
        if not place.is_file():
            return []
        found = []
        lines = place.read_text("utf-8").split("\n")
        for number, line in enumerate(filter(None, lines[:-1]), 1):
            try:
                found.append(json.loads(line))
            except ValueError as error:
                raise DataError(f"{place}, line {number}, is not JSON: {error}") from error
        return found

    def append(self, row: Mapping[str, Any]) -> None:
        """Add a row, after the last one that was written whole."""
        place = self.path / _TASKS
        kept = b""
        if place.is_file():
            kept = place.read_bytes()
            kept = kept[: kept.rfind(b"\n") + 1]
        with place.open("r+b" if place.is_file() else "wb") as file:
            file.truncate(len(kept))
            file.seek(len(kept))
            file.write(json.dumps(row).encode() + b"\n")

    def tasks(self) -> list[SweTask]:
        """Return the tasks.

        Raises:
            ConfigError: There are none, or one does not fit the repository.
            DataError: A row is malformed.
        """
        right = self.files()
        found = list(self._tasks(right))
        if not found:
            raise ConfigError(f"{self.path} has no tasks yet; gem-core swe make goes on with it.")
        return found

    def _tasks(self, right: Mapping[str, bytes]) -> Iterator[SweTask]:
        for row in self.rows():
            try:
                yield self.task(row, right)
            except KeyError as error:
                raise DataError(f"A row of {self.path / _TASKS} has no {error}.") from error

    def task(self, row: Mapping[str, Any], right: Mapping[str, bytes]) -> SweTask:
        """Return the task of a row.

        Args:
            row: The row.
            right: The files of the repository as it should be.
        """
        changed = patched(right, row["bug_patch"])
        failing, passing = tuple(row["FAIL_TO_PASS"]), tuple(row["PASS_TO_PASS"])
        files = {**changed, **hidden_files(changed, self.tests, failing)}
        graded = dict.fromkeys(one.partition("::")[0] for one in (*failing, *passing))
        suite = PytestSuite(
            files={path: right[path] for path in self.tests},
            tests=tuple(graded),
            command=COMMAND,
        )
        return SweTask(
            id=row["instance_id"],
            instruction=row["problem_statement"],
            machine=spec_of(files, self.environment),
            verifier_timeout=_SECONDS,
            solution=solution_files({k: v for k, v in right.items() if changed.get(k) != v}),
            files=files,
            source=self.folders,
            suite=suite,
            forgeable=suite.forgeable,
            fail_to_pass=failing,
            failures=tuple(Failure(**one) for one in row["failures"]),
            pass_to_pass=passing,
            concealed=self.concealed,
            metadata=row.get("metadata", {}),
        )


def hidden_files(
    files: Mapping[str, bytes], tests: Sequence[str], hidden: Sequence[str]
) -> dict[str, bytes]:
    """Return the test files of a repository without the tests that grade.

    Args:
        files: The files of the repository.
        tests: The paths of its test files.
        hidden: The ids of tests, as pytest names them.
    """
    names = {one.partition("[")[0] for one in hidden}
    return {path: without_tests(path, files[path], names) for path in tests}

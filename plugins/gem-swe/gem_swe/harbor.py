"""Tasks of a repository as task folders of Harbor.

Each folder is complete: a Dockerfile that installs what the tests need and makes a repository with
one commit, the hidden tests, a program that grades them, and the solution.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from gem_swe import harbor_grade, pytest_results
from gem_swe.made_folder import MadeFolder
from gem_swe.suites import OPTIONS, PLUGIN, PytestSuite
from gem_swe.task import WORKDIR, SweTask

__all__ = ["write_harbor"]

_TOML = """\
version = "1.0"

[metadata]
difficulty = {difficulty}
category = "software-engineering"
tags = ["bug", "python"]

[agent]
timeout_sec = {agent:.1f}

[verifier]
timeout_sec = {verifier:.1f}

[environment]
build_timeout_sec = 900.0
cpus = 1
memory_mb = 4096
storage_mb = 4096
"""
_DOCKERFILE = """\
FROM python:{version}
RUN pip install --no-cache-dir {requirements}
COPY repository {workdir}
WORKDIR {workdir}
ENV PYTHONPATH={workdir}/src:{workdir}
RUN git init -q && git add -A && \\
    git -c user.name=gem-swe -c user.email=gem-swe@localhost commit -q -m "The repository"
"""
_TEST = """\
#!/bin/bash
cd {workdir}
cp -r /tests/files/. .
export PYTHONPATH=/tests:$PYTHONPATH PYTHONDONTWRITEBYTECODE=1 GEM_SWE_MUST_FAIL={must_fail}
{command} {paths} >/logs/verifier/output.txt 2>&1
python -I /tests/harbor_grade.py /tests/tests.json /logs/verifier/output.txt \\
  >/logs/verifier/reward.txt
"""


def write_harbor(made: MadeFolder, folder: Path) -> int:
    """Write each task of a folder of ``gem-core swe make`` as a task folder; return their number.

    Args:
        made: The tasks.
        folder: The folder to write into; folders of tasks that are there are written again.

    Raises:
        ConfigError: The folder has no tasks.
        OSError: A file cannot be written.
    """
    tasks = made.tasks()
    for task in tasks:
        for path, content in _files(made, task).items():
            place = folder / task.id / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
            place.chmod(0o755 if place.suffix == ".sh" else 0o644)
    return len(tasks)


def _files(made: MadeFolder, task: SweTask) -> dict[str, bytes]:
    """Return the files of a task folder, by path."""
    suite = task.suite
    assert isinstance(suite, PytestSuite)  # noqa: S101 - tasks of these folders have no other
    wire = _wire_of(task)
    paths = dict.fromkeys([*suite.tests, wire[0]])
    needed = [one for one in made.environment.requirements if not one.startswith(("pip==", "gem-"))]
    texts = {
        "task.toml": _TOML.format(
            difficulty=json.dumps(str(task.metadata.get("difficulty", ""))),
            agent=task.agent_timeout,
            verifier=task.verifier_timeout,
        ),
        "instruction.md": f"The repository is in {WORKDIR}.\n\n{task.instruction}\n",
        "environment/Dockerfile": _DOCKERFILE.format(
            version=made.environment.version,
            requirements=" ".join(f"'{one}'" for one in needed),
            workdir=WORKDIR,
        ),
        "tests/test.sh": _TEST.format(
            workdir=WORKDIR,
            command=f"{suite.command} {OPTIONS}",
            must_fail=wire[1].rpartition("::")[2],
            paths=" ".join(f"'{one}'" for one in paths),
        ),
        "tests/tests.json": json.dumps(
            {"must_pass": [*task.fail_to_pass, *task.pass_to_pass], "must_fail": wire[1]}
        ),
        f"tests/files/{wire[0]}": wire[2],
    }
    return {
        **{path: text.encode() for path, text in texts.items()},
        f"tests/{PLUGIN}.py": Path(pytest_results.__file__).read_bytes(),
        "tests/harbor_grade.py": Path(harbor_grade.__file__).read_bytes(),
        **_below("tests/files/", suite.files),
        **_below("environment/repository/", task.files),
        **_below("solution/", task.solution),
    }


def _below(start: str, files: Mapping[str, bytes]) -> dict[str, bytes]:
    return {f"{start}{path}": content for path, content in files.items()}


def _wire_of(task: SweTask) -> tuple[str, str, str]:
    """Return the path, the id and the code of a test that must fail."""
    name = f"test_{hashlib.sha256(task.id.encode()).hexdigest()[:8]}"
    path = f"{Path(task.fail_to_pass[0].partition('::')[0]).parent}/{name}.py".removeprefix("./")
    return path, f"{path}::{name}", f"def {name}():\n    value = 1\n    assert value == 2\n"

"""Machines for the tests of tasks, and the way from a task to its reward."""

import contextlib
import posixpath
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from gem_core.errors import MachineError
from gem_core.machine import Machine, MachineSpec
from gem_terminal.task import TerminalTask
from gem_workers.dockerfile import read_dockerfile


class Bench:
    """Starts machines for tasks, runs their solutions and their tests."""

    def __init__(self, provider) -> None:
        self._provider = provider

    @contextlib.contextmanager
    def start(self, task: TerminalTask) -> Iterator[Machine]:
        spec = task.machine
        limits = {"workdir": spec.workdir, "env": spec.env, "memory": spec.memory}
        with self._provider.start(MachineSpec(files=spec.files, **limits)) as machine:
            if spec.build:
                build(machine, Path(spec.build))
            yield machine

    def solve(self, machine: Machine, task: TerminalTask) -> None:
        for path, content in task.solution.items():
            machine.write(f"/solution/{path}", content)
        done = machine.run("bash /solution/solve.sh", env=task.solution_env)
        assert done.ok, done.stdout + done.stderr

    def grade(self, machine: Machine, task: TerminalTask) -> float:
        """Run the tests with all processes ended, as on a fresh machine with the same files."""
        if task.mode == "fresh":
            machine.kill_all()
        for path, content in task.tests.items():
            machine.write(f"/tests/{path}", content)
        machine.run("rm -rf /logs/verifier; mkdir -p /logs/verifier")
        done = machine.run(task.verify_command, env=task.verifier_env, timeout=60)
        try:
            return float(machine.read("/logs/verifier/reward.txt"))
        except MachineError:
            pytest.fail(f"There is no reward: {done.stdout}{done.stderr}")


def build(machine: Machine, folder: Path) -> None:
    """Carry out the COPY, RUN and WORKDIR of a sample's Dockerfile."""
    workdir = "/"
    for each in read_dockerfile(folder):
        if each.name == "WORKDIR":
            workdir = each.arguments
            machine.run(f"mkdir -p {shlex.quote(workdir)}", cwd="/")
        elif each.name == "COPY":
            *sources, target = shlex.split(each.arguments)
            for source in sources:
                copy(machine, folder / source, posixpath.join(workdir, target))
        elif each.name == "RUN":
            done = machine.run(each.arguments, cwd=workdir)
            assert done.ok, done.stdout + done.stderr
        else:
            assert each.name == "FROM", each


def copy(machine: Machine, source: Path, target: str) -> None:
    if source.is_file():
        target += source.name if target.endswith("/") else ""
        machine.write(target, source.read_bytes())
        return
    for path in sorted(source.rglob("*")):
        if path.is_file():
            copy(machine, path, f"{target.rstrip('/')}/{path.relative_to(source)}")


@pytest.fixture(scope="session")
def provider():
    """Local machines, which all tests share."""
    local = pytest.importorskip("gem_sandbox.machines.local.provider")
    with local.LocalProvider() as made:
        try:
            made.start(MachineSpec()).close()
        except MachineError as error:
            pytest.skip(f"no machine can be started here: {error}")
        yield made


@pytest.fixture(scope="session")
def bench(provider):
    return Bench(provider)

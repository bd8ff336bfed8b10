"""A small repository of its own, tasks of it, and machines."""

import sys
from pathlib import Path

import pytest

from gem_core.errors import MachineError
from gem_swe.bugs import bug_of, mutations_in
from gem_swe.env import SweEnv
from gem_swe.repository import read_repository
from gem_swe.task import task_of_bug
from gem_tasks.task_source import ListedTasks
from gem_workers.machine import MachineSpec

sys.path.insert(0, str(Path(__file__).parent))  # swe_attacks.py

SLUGS = Path(__file__).parent / "repositories" / "slugs"


@pytest.fixture(scope="session")
def slugs():
    """The repository of a package that makes slugs."""
    return read_repository(SLUGS)


@pytest.fixture(scope="session")
def task(slugs):
    """A task of it: ``slug`` stops before the limit instead of after it."""
    (found,) = (
        one for one in mutations_in(slugs) if one.function == "slug" and one.edits[0].text == "<"
    )
    return task_of_bug(bug_of(slugs, [found]), "slugs-0")


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


@pytest.fixture
def env(provider, task):
    """An environment of the task that takes ``bash`` blocks."""
    made = SweEnv(tasks=ListedTasks([task]), machine=provider, call_format=None)
    with made:
        made.reset(seed=0)
        yield made


@pytest.fixture
def play(provider):
    """Return a function that plays an episode of a task and returns its last step."""

    def run(task, *commands, solve=False, **options):
        with SweEnv(
            tasks=ListedTasks([task]), machine=provider, call_format=None, **options
        ) as env:
            env.reset(seed=0)
            if solve:
                env.step(env.solution())
            for command in commands:
                env.step(env.bash(command))
            return env.step(env.finish_action)

    return run

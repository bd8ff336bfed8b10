"""Machines for the tests of tasks, and the way from a task to its reward."""

import pytest

from gem_core.errors import MachineError
from gem_tasks.task_source import ListedTasks
from gem_terminal.env import TerminalEnv
from gem_workers.machine import MachineSpec


class Bench:
    """Plays tasks on machines of one provider."""

    def __init__(self, provider) -> None:
        self._provider = provider

    def play(self, task, *commands, solve=False, **options):
        """Play an episode: the solution, or nothing, then the commands; return its last step."""
        with TerminalEnv(tasks=ListedTasks([task]), machine=self._provider, **options) as env:
            env.reset(seed=0)
            if solve:
                env.step(env.solution())
            for command in commands:
                env.step(f"```bash\n{command}\n```")
            return env.step(env.finish_action)

    def pays(self, task, *commands, solve=False):
        """Return the reward of an episode, and check that nothing kept the tests from giving it."""
        step = self.play(task, *commands, solve=solve)
        assert "ended_by" not in step.info, step.info["ended_by"]
        return step.reward


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

"""``examples/tau_dialogues.py``: both seats played, and a fork in the middle."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[4] / "examples" / "tau_dialogues.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("tau_dialogues_example", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("seed", range(8))
def test_a_fork_in_the_middle_goes_on_as_the_dialogue_did(example, seed):
    trajectory = example.play_both(seed)
    as_before, _ = example.fork_in_the_middle(trajectory)
    assert as_before == trajectory.of_agent("assistant").episode_return == 1.0


def test_it_runs_as_a_program():
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLE), "0"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert said[0].startswith("user: ")
    assert said[1].startswith("assistant: ")
    assert any(line.startswith("  result: ") for line in said)
    assert said[-1] == "from the middle: as before 1, with a goodbye 0"

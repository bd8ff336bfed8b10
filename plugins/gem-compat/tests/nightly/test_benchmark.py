"""The script of the benchmark runs with this package; the comparison needs gem-llm."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[4] / "benchmarks"


@pytest.mark.parametrize(
    ("arguments", "figure", "least"),
    [
        (["startup"], "modules", 10),
        (["loop", "game:GuessTheNumber-v0-hard"], "per_second", 1),
        (["history", "concat,episode_tracking"], "per_second", 1),
        (["vector", "threads"], "per_second", 1),
        (["seeds", "game:Sokoban-v0-easy"], "alike", 8),
        (["tool", "print(1)"], "per_second", 1),
        (["grading", r"0.5~\frac{1}{2}"], "per_second", 1),
    ],
)
def test_the_script_measures(arguments, figure, least):
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from migration import script\n"
    code += "import json; script.SECONDS = 0.01\n"
    code += "print(json.dumps(getattr(script, sys.argv[1])(*sys.argv[2:])))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(BENCHMARKS), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[figure] >= least

"""Tests that may run a program of the agent are found by reading them."""

import pytest

from gem_terminal.folders import sample_tasks
from gem_terminal.forgeable import why_forgeable

PYTEST = """\
#!/bin/bash
set -e
# Installs the test runner.
apt-get update && apt-get install -y curl
curl -LsSf https://astral.sh/uv/0.9.5/install.sh | sh
source $HOME/.local/bin/env
if [ "$PWD" = "/" ]; then
  echo "no working directory"; exit 1
fi
uvx -p 3.13 -w pytest==8.4.1 pytest --ctrf /logs/verifier/ctrf.json /tests/test_outputs.py -rA
if [ $? -eq 0 ]; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
"""
READS = """\
import json
from pathlib import Path

import pytest


@pytest.mark.parametrize("name", ["a", "b"])
def test_answer(name):
    assert json.loads(Path("/app/answer.json").read_text())[name] == 1
"""


def test_tests_that_only_read_are_not_forgeable():
    files = {"test.sh": PYTEST.encode(), "test_outputs.py": READS.encode(), "data/a.csv": b"x"}
    assert why_forgeable(files) == ""


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("import subprocess", "import subprocess"),
        ("from os import system", "import os.system"),
        ("import os; os.popen('x')", "os.popen"),
        ("import sys; sys.path.insert(0, '/app')", "sys.path"),
        ("import solution", "import solution"),
        ("import importlib", "import importlib"),
        ("import pickle", "import pickle"),
        ("import os as o; o.system('x')", "import os.*"),
        ("from os import *", "import os.*"),
        ("import builtins as b", "import builtins"),
        ("import requests", "import requests"),
        ("exec(open('/app/x.py').read())", "exec"),
        ("import numpy; numpy.load('/app/x.npy', allow_pickle=True)", "allow_pickle"),
        ("import pandas; pandas.read_pickle('/app/x')", "pandas.read_pickle"),
        ("def broken(", "cannot be parsed"),
    ],
)
def test_python_that_may_run_programs_is_named(line, what):
    files = {"test.sh": PYTEST.encode(), "test_outputs.py": f"{READS}\n{line}\n".encode()}
    assert what in why_forgeable(files)
    assert why_forgeable(files).startswith("tests/test_outputs.py, line ")


@pytest.mark.parametrize(
    "line",
    [
        "bash /app/run.sh",
        "./run",
        "cd /app && make test",
        "python3 /app/main.py",
        "cd /app; pytest",
        "python -m unittest",
        "source /app/env.sh",
        ". /app/env.sh",
        "answer=$(/app/tool --version)",
        "if diff <(/app/tool) /tests/expected; then echo 1; fi",
        "cat /app/x | sh",
        "$PROGRAM",
        "git status",
        "echo `node /app/x.js`",
        "find /app -exec {} ;",
        "python3 - <<'END'\nimport subprocess\nEND",
        "python3 - <<'END'\nprint(1)\nEND",
        "eval x",
        "command ./run",
        "trap /app/run EXIT",
        "export PATH=/app/bin:$PATH",
        "PYTHONPATH=/app pytest /tests/test_outputs.py",
        "pytest /tests/test_outputs.py /app/tests",
        "pytest --rootdir=/app /tests/test_outputs.py",
        "pip install /app",
        "pip install -e .",
        "pip install -r requirements.txt",
    ],
)
def test_commands_that_may_run_programs_are_named(line):
    assert why_forgeable({"test.sh": f"{PYTEST}{line}\n".encode()}) != ""


@pytest.mark.parametrize(
    "line",
    [
        'export PATH="$HOME/.local/bin:$PATH"',
        "pip install pytest==8.4.1 -r /tests/requirements.txt",
        "python3 -m pytest -p no:cacheprovider $TEST_DIR/test_outputs.py",
        "uv run pytest --junitxml=/logs/verifier/x.xml /tests/test_outputs.py 2>/dev/null",
    ],
)
def test_commands_of_usual_tests_are_not_taken_for_programs(line):
    assert why_forgeable({"test.sh": f"{PYTEST}{line}\n".encode()}) == ""


def test_heredocs_of_python_are_read():
    text = "if python3 -I - <<'END'\nassert open('/app/x').read() == '1'\nEND\nthen\necho 1\nfi\n"
    assert why_forgeable({"test.sh": text.encode()}) == ""


def test_a_file_of_unknown_use_counts_as_a_program():
    files = {"test.sh": PYTEST.encode(), "check.js": b"1"}
    assert why_forgeable(files) == "tests/check.js, line 1: a file of unknown use"


def test_the_samples_say_themselves_which_programs_they_run():
    """Those that run programs of the agent would be noticed without a word of theirs."""
    found = {task.id: why_forgeable(task.tests) for task in sample_tasks()}
    assert all(found[task.id] for task in sample_tasks() if task.other_user)
    assert sum(not why for why in found.values()) >= 15

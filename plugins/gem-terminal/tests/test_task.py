"""A task: the commands of its solution."""

import subprocess

from gem_terminal.task import TerminalTask

FILES = {
    "solve.sh": b"set -e\npython3 - <<'END'\n\tprint('$HOME', `x`)\nEND\n",
    "data/unended.txt": b"no end of line",
    "empty": b"",
    "carriage.txt": b"a\r\n",
    "binary": bytes(range(256)),
    "fence.md": b"```\ncode\n```\n",
    "long.txt": b"x" * 5000 + b"\n",
    "words.txt": "naïve \N{SNOWMAN}\n\nEND\nEND1\n".encode(),
}


def test_the_script_of_a_solution_writes_its_files_unchanged(tmp_path):
    """Whatever bytes they have; the last line runs the program."""
    task = TerminalTask(id="a", instruction="b", tests={"test.sh": b""}, solution=FILES)
    *lines, last = task.solution_script.replace("/solution", str(tmp_path)).split("\n")
    assert last == f"bash {tmp_path}/solve.sh"
    subprocess.run(["bash", "-c", "\n".join(lines)], check=True)
    found = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {str(path.relative_to(tmp_path)): path.read_bytes() for path in found} == FILES


def test_a_reader_can_follow_the_script_of_a_solution():
    """A program stands there as it was written."""
    program = b"#!/bin/bash\n# Sum the numbers.\nawk '{s += $1} END {print s}' numbers.txt\n"
    solution = {"solve.sh": program}
    task = TerminalTask(id="a", instruction="b", tests={"test.sh": b""}, solution=solution)
    assert program.decode() in task.solution_script
    assert "base64" not in task.solution_script

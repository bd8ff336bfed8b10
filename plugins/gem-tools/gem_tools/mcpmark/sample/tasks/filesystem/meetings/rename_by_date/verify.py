"""Verifies that each file has the name of its date, and nothing else changed."""

import os
import sys
from pathlib import Path

FOLDER = Path(os.environ["FILESYSTEM_TEST_DIR"])

EXPECTED = {
    "2024-02-09.txt": "Present: Dana, Farah",
    "2024-04-02.txt": "Present: Bruno, Ada",
    "2024-05-13.txt": "Present: Ada, Chen, Dana",
    "2024-05-30.txt": "Present: Chen, Bruno, Farah",
    "2024-06-21.txt": "Present: Farah, Emeka, Ada, Chen",
}


def problem() -> str:
    """Return the error in the files; empty without one."""
    found = sorted(path.name for path in FOLDER.iterdir())
    if found != sorted(EXPECTED):
        return f"The files are {found}."
    for name, second_line in EXPECTED.items():
        lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
        if lines[:2] != [f"Date: {name[:10]}", second_line]:
            return f"{name} does not hold the minutes of that day."
    return ""


if __name__ == "__main__":
    said = problem()
    print(said or "Everything is as it should be.")
    sys.exit(1 if said else 0)

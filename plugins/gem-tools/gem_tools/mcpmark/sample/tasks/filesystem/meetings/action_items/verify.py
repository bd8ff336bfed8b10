"""Verifies that todo.txt has all action items by date."""

import os
import sys
from pathlib import Path

FOLDER = Path(os.environ["FILESYSTEM_TEST_DIR"])

EXPECTED = [
    "Bruno books the hall",
    "Chen orders more labels",
    "Dana tells the cleaners",
    "Bruno updates the price list",
    "Farah writes to the sponsors",
    "Emeka returns the chairs",
]


def problem() -> str:
    """Return the error in the files; empty without one."""
    path = FOLDER / "todo.txt"
    if not path.is_file():
        return "There is no todo.txt."
    lines = path.read_text(encoding="utf-8").splitlines()
    found = [line.strip() for line in lines if line.strip()]
    return "" if found == EXPECTED else "todo.txt does not have the right lines in order."


if __name__ == "__main__":
    said = problem()
    print(said or "Everything is as it should be.")
    sys.exit(1 if said else 0)

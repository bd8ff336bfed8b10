"""Verifies that the duplicates are gone, and only they."""

import os
import sys
from pathlib import Path

FOLDER = Path(os.environ["FILESYSTEM_TEST_DIR"])

EXPECTED = [
    "card01.txt",
    "card02.txt",
    "card03.txt",
    "card05.txt",
    "card06.txt",
    "card07.txt",
    "card09.txt",
]


def problem() -> str:
    """Return the error in the files; empty without one."""
    found = sorted(path.name for path in FOLDER.iterdir())
    return "" if found == EXPECTED else f"The cards are {found}."


if __name__ == "__main__":
    said = problem()
    print(said or "Everything is as it should be.")
    sys.exit(1 if said else 0)

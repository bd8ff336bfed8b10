"""Verifies the lines of books.txt."""

import os
import sys
from pathlib import Path

FOLDER = Path(os.environ["FILESYSTEM_TEST_DIR"])

EXPECTED = [
    "1964: A Field Guide to Clouds",
    "1978: Small Engines",
    "1987: The Glass Harbour",
    "1995: The Long Table",
    "1999: Winter Ferries",
    "2003: Rivers of Salt",
    "2011: North by Tram",
]


def problem() -> str:
    """Return the error in the files; empty without one."""
    path = FOLDER / "books.txt"
    if not path.is_file():
        return "There is no books.txt."
    lines = path.read_text(encoding="utf-8").splitlines()
    found = [line.strip() for line in lines if line.strip()]
    return "" if found == EXPECTED else "books.txt does not have the right lines in order."


if __name__ == "__main__":
    said = problem()
    print(said or "Everything is as it should be.")
    sys.exit(1 if said else 0)

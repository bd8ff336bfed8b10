"""Verifies the numbers in errors.txt."""

import os
import sys
from pathlib import Path

FOLDER = Path(os.environ["FILESYSTEM_TEST_DIR"])

EXPECTED = ["auth: 5", "mail: 4", "search: 4", "billing: 3"]


def problem() -> str:
    """Return the error in the files; empty without one."""
    path = FOLDER / "errors.txt"
    if not path.is_file():
        return "There is no errors.txt."
    lines = path.read_text(encoding="utf-8").splitlines()
    found = [line.strip() for line in lines if line.strip()]
    return "" if found == EXPECTED else "errors.txt does not have the right lines in order."


if __name__ == "__main__":
    said = problem()
    print(said or "Everything is as it should be.")
    sys.exit(1 if said else 0)

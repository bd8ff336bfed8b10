"""Verifies the revenue in revenue.txt."""

import os
import sys
from pathlib import Path

FOLDER = Path(os.environ["FILESYSTEM_TEST_DIR"])

EXPECTED = "341.30"


def problem() -> str:
    """Return the error in the files; empty without one."""
    path = FOLDER / "revenue.txt"
    if not path.is_file():
        return "There is no revenue.txt."
    return "" if path.read_text(encoding="utf-8").strip() == EXPECTED else "The number is wrong."


if __name__ == "__main__":
    said = problem()
    print(said or "Everything is as it should be.")
    sys.exit(1 if said else 0)

"""Verifies the names in low_stock.txt."""

import os
import sys
from pathlib import Path

FOLDER = Path(os.environ["FILESYSTEM_TEST_DIR"])

EXPECTED = ["Milk jug", "Saucer", "Spoon", "Teapot"]


def problem() -> str:
    """Return the error in the files; empty without one."""
    path = FOLDER / "low_stock.txt"
    if not path.is_file():
        return "There is no low_stock.txt."
    lines = path.read_text(encoding="utf-8").splitlines()
    found = [line.strip() for line in lines if line.strip()]
    return "" if found == EXPECTED else "low_stock.txt does not have the right names in order."


if __name__ == "__main__":
    said = problem()
    print(said or "Everything is as it should be.")
    sys.exit(1 if said else 0)

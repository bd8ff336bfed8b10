"""Verifies that attendance.csv has the right numbers."""

import os
import sys
from pathlib import Path

FOLDER = Path(os.environ["FILESYSTEM_TEST_DIR"])

EXPECTED = ["name,meetings", "Ada,3", "Bruno,2", "Chen,3", "Dana,2", "Emeka,1", "Farah,3"]


def problem() -> str:
    """Return the error in the files; empty without one."""
    path = FOLDER / "attendance.csv"
    if not path.is_file():
        return "There is no attendance.csv."
    lines = path.read_text(encoding="utf-8").split()
    return "" if lines == EXPECTED else "attendance.csv does not have the right lines."


if __name__ == "__main__":
    said = problem()
    print(said or "Everything is as it should be.")
    sys.exit(1 if said else 0)

"""Verifies that each card is in the folder of its genre."""

import os
import sys
from pathlib import Path

FOLDER = Path(os.environ["FILESYSTEM_TEST_DIR"])

EXPECTED = {
    "card01.txt": "novel",
    "card02.txt": "travel",
    "card03.txt": "science",
    "card04.txt": "novel",
    "card05.txt": "novel",
    "card06.txt": "travel",
    "card07.txt": "science",
    "card08.txt": "travel",
    "card09.txt": "novel",
}


def problem() -> str:
    """Return the error in the files; empty without one."""
    paths = [path for path in FOLDER.rglob("*") if path.is_file()]
    found = {path.name: path.parent.relative_to(FOLDER).as_posix() for path in paths}
    if found != EXPECTED:
        return "Not every card is in the folder of its genre."
    for path in paths:
        if f"Genre: {path.parent.name}" not in path.read_text(encoding="utf-8"):
            return f"{path.name} was changed."
    return ""


if __name__ == "__main__":
    said = problem()
    print(said or "Everything is as it should be.")
    sys.exit(1 if said else 0)

"""Verifies that the logs of January are in the archive, and only they."""

import os
import sys
from pathlib import Path

FOLDER = Path(os.environ["FILESYSTEM_TEST_DIR"])

EXPECTED = {
    "archive/2024-01/2024-01-14.txt": 34790,
    "archive/2024-01/2024-01-29.txt": 40992,
    "logs/2024-02-03.txt": 39105,
    "logs/2024-02-17.txt": 36609,
}
"""The logs, and the sums of the codes of their characters."""


def problem() -> str:
    """Return the error in the files; empty without one."""
    paths = [path for top in ("archive", "logs") for path in (FOLDER / top).rglob("*")]
    files = {p.relative_to(FOLDER).as_posix(): p for p in paths if p.is_file()}
    if sorted(files) != sorted(EXPECTED):
        return f"The logs are {sorted(files)}."
    for name, expected in EXPECTED.items():
        if sum(map(ord, files[name].read_text(encoding="utf-8"))) != expected:
            return f"{name} was changed."
    return ""


if __name__ == "__main__":
    said = problem()
    print(said or "Everything is as it should be.")
    sys.exit(1 if said else 0)

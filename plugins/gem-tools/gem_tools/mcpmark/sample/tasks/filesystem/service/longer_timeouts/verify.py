"""Verifies the configurations."""

import os
import sys
from pathlib import Path

FOLDER = Path(os.environ["FILESYSTEM_TEST_DIR"])

EXPECTED = {
    "config/auth.ini": "[service]\nname = auth\nport = 8100\ntimeout = 60\nretries = 30\n",
    "config/billing.ini": "[service]\nname = billing\nport = 8101\ntimeout = 60\nretries = 3\n",
    "config/mail.ini": "[service]\nname = mail\nport = 8102\ntimeout = 45\nretries = 30\n",
    "config/search.ini": "[service]\nname = search\nport = 8103\ntimeout = 60\nretries = 3\n",
}


def problem() -> str:
    """Return the error in the files; empty without one."""
    for name, text in EXPECTED.items():
        path = FOLDER / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            return f"{name} is not as it should be."
    return ""


if __name__ == "__main__":
    said = problem()
    print(said or "Everything is as it should be.")
    sys.exit(1 if said else 0)

"""Verifies that products.csv has the two changes and no other."""

import os
import sys
from pathlib import Path

FOLDER = Path(os.environ["FILESYSTEM_TEST_DIR"])

EXPECTED = """\
id,name,price,stock,reorder_level
P-101,Kettle,24.90,12,5
P-102,Teapot,31.50,3,4
P-103,Mug,7.20,80,40
P-104,Saucer,5.25,22,25
P-105,Tray,15.00,9,3
P-106,Spoon,2.10,140,150
P-107,Sugar pot,11.80,6,6
P-108,Milk jug,13.40,2,5
"""


def problem() -> str:
    """Return the error in the files; empty without one."""
    found = (FOLDER / "products.csv").read_text(encoding="utf-8")
    return "" if found == EXPECTED else "products.csv is not as it should be."


if __name__ == "__main__":
    said = problem()
    print(said or "Everything is as it should be.")
    sys.exit(1 if said else 0)

"""How figures grow with the work: each file but ``suite.py`` is a row of the table.

A row defines ``SIZES`` (three sizes, each four times the one before), ``UNIT``, ``TITLE`` and
``measure``, which makes what it needs and returns the figure of a size. ``GROWTH`` is the power of
the size with which the figure may grow: 0 for a flat one, 1 for a linear one, which is the default.
"""

import importlib
import json
import sys

__all__ = ["main"]


def main() -> None:
    """Measure one row at one size: ``worker.py growth ROW SIZE``."""
    row = importlib.import_module(f"growth.{sys.argv[1]}")
    print(json.dumps(row.measure(int(sys.argv[2]))))

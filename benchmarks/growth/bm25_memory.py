"""Memory of a search by words in each process that searches a corpus."""

import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

__all__ = ["GROWTH", "SIZES", "TITLE", "UNIT", "measure"]

SIZES = (5_000, 20_000, 80_000)
UNIT = "MiB"
TITLE = "private memory of a second process that searches n passages"
GROWTH = 0
_SEARCH = """
import sys
from pathlib import Path
import gem_tools.search.bm25, gem_tools.search.index
from gem_tools.search.local import Bm25Backend

def private():
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_Dirty"))

before = private()
Bm25Backend(corpus=sys.argv[1]).search("bfdgkz", topk=5, seconds=600)
print((private() - before) / 1024)
"""


def measure(size: int) -> float:
    """Return what a search adds to the memory of the second process that makes one, in MiB."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus = _written(folder, size)
        environ = {**os.environ, "XDG_CACHE_HOME": str(folder)}
        command = [sys.executable, "-c", _SEARCH, str(corpus)]
        for _ in range(2):
            done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
        return float(done.stdout)


def _written(folder: Path, size: int) -> Path:
    """Write passages of 40 words, of which few are common, and 500 bytes that are not indexed."""
    rng = random.Random(0)
    made = ["".join(rng.choices("bdfgklmnprtvz", k=6)) for _ in range(size)]
    weights = list(itertools.accumulate(1 / rank for rank in range(1, size + 1)))
    path = folder / "corpus.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for _ in range(size):
            text = " ".join(rng.choices(made, cum_weights=weights, k=40))
            file.write(json.dumps({"contents": text, "note": "x" * 500}) + "\n")
    return path

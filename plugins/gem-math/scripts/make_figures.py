# /// script
# requires-python = ">=3.11"
# dependencies = ["pillow>=10"]
# ///
"""Generate the figures with which ``math:Custom-Visual`` is checked: squares in a grid, to count.

The same seed generates the same rows of ``gem_math/data/figures.jsonl``::

    uv run plugins/gem-math/scripts/make_figures.py
"""

import base64
import io
import json
import random
from pathlib import Path

from PIL import Image

PATH = Path(__file__).parents[1] / "gem_math" / "data" / "figures.jsonl"
COUNT, SIDE, CELL = 40, 5, 8


def main() -> None:
    """Write the rows."""
    rng = random.Random(0)
    rows = [_row(rng) for _ in range(COUNT)]
    PATH.write_text("".join(json.dumps(row) + "\n" for row in rows))


def _row(rng: random.Random) -> dict[str, object]:
    number = rng.randint(1, SIDE * SIDE - 1)
    picture = Image.new("1", (SIDE * CELL, SIDE * CELL), 1)
    for place in rng.sample(range(SIDE * SIDE), number):
        left, top = place % SIDE * CELL, place // SIDE * CELL
        picture.paste(0, (left + 1, top + 1, left + CELL - 1, top + CELL - 1))
    file = io.BytesIO()
    picture.save(file, "png", optimize=True)
    image = "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
    problem = "How many black squares does <image> show?"
    return {"problem": problem, "images": [image], "answer": str(number)}


if __name__ == "__main__":
    main()

"""Generates the notebooks of docs/tutorials from their pages.

Usage: ``python docs/generate_notebooks.py [--output FOLDER]`` (``make docs``). Text becomes cells
of Markdown; blocks become cells of code: files are written, and commands run by bash.
"""

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TUTORIALS = Path(__file__).parent / "tutorials"
PAGES = ("environment", "evaluation", "tools")
"""The pages that need neither torch nor a second terminal."""
END = "<!-- notebook: ends here -->"
BLOCK = re.compile(
    r"^```(python|console)\n(.*?)^```\n|^    (pip install [^\n]*)\n", re.MULTILINE | re.DOTALL
)
SHOWN = re.compile(r"^```text\n.*?^```\n", re.MULTILINE | re.DOTALL)
Cell = dict[str, Any]


def main() -> None:
    """Generate the notebooks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=TUTORIALS, help="where to write them")
    folder = parser.parse_args().output
    for name in PAGES:
        text = (TUTORIALS / f"{name}.md").read_text("utf-8")
        notebook = json.dumps(_notebook(text), indent=1, ensure_ascii=False)
        (folder / f"{name}.ipynb").write_text(f"{notebook}\n", "utf-8")


def _notebook(text: str) -> dict[str, Any]:
    """Return the notebook of a page, in the format of nbformat 4.5."""
    text = re.sub(r"\n.*\]\(\w+\.ipynb\)\.", "", text.partition(END)[0])
    cells = [{"id": f"cell-{number}", **cell} for number, cell in enumerate(_cells(text))]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _cells(text: str) -> Iterator[Cell]:
    place = 0
    for match in BLOCK.finditer(text):
        yield from _markdown(text[place : match.start()])
        language, block, install = match.groups()
        if install:
            yield _code(f"%{install}", tags=["install"])
        elif language == "console":
            yield from map(_command, re.findall(r"^\$ (.*)$", block, re.MULTILINE))
        else:
            yield from _python(block)
        place = match.end()
    yield from _markdown(text[place:])


def _markdown(text: str) -> Iterator[Cell]:
    """Yield a cell of text, without outputs and comments of the page."""
    text = re.sub(r"^<!-- .* -->\n", "", SHOWN.sub("", text), flags=re.MULTILINE).strip()
    if text:
        yield {"cell_type": "markdown", "metadata": {}, "source": _lines(text)}


def _python(block: str) -> Iterator[Cell]:
    named = re.match(r"# file: (\S+)\n", block)
    if named is None:
        yield _code(block)
        return
    folder = Path(named[1]).parent
    if folder != Path():
        yield _code(f"%mkdir -p {folder}")
    yield _code(f"%%writefile {named[1]}\n{block[named.end() :]}")


def _command(line: str) -> Cell:
    """Return the cell of a command; one that ends with ``&`` keeps running beside the notebook."""
    if exported := re.match(r"export (\w+)=(.*)", line):
        return _code(f"%env {exported[1]}={exported[2]}")
    if line.endswith(" &"):
        words = line.removesuffix(" &").split()
        return _code(
            "import subprocess\n\n"
            f"server = subprocess.Popen({json.dumps(words)}, stdout=subprocess.PIPE, text=True)\n"
            "print(server.stdout.readline())"
        )
    return _code(f"%%bash\n{line}")


def _code(text: str, *, tags: list[str] | None = None) -> Cell:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {"tags": tags} if tags else {},
        "outputs": [],
        "source": _lines(text.rstrip()),
    }


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    main()

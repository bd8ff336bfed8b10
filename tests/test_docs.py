"""What README and docs show is run as it is written.

Python blocks of a page run in order, in one folder; a block that opens with ``# file: NAME`` is
written to that file instead, and ``pytest`` blocks are run by pytest's own test. Lines that start
with ``$`` in console blocks are run by bash.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "docs/trainers/README.md",
]
BLOCK = re.compile(r"^```(python|console|yaml)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PRINTED = re.compile(
    r"^```python\n(?:(?!```).*\n)*```\n\n```text\n((?:(?!```).*\n)*)```", re.MULTILINE
)
"""What a page shows right below a Python block: what the block prints."""


def run(command, folder):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": path, "HYDRA_FULL_ERROR": "1"},
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_every_snippet_of_a_page_runs(page, tmp_path):
    program: list[str] = []
    for language, text in BLOCK.findall(page.read_text()):
        named = re.match(r"# file: (\S+)\n", text)
        if named:
            path = tmp_path / named[1]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            if language == "python":
                compile(text, named[1], "exec")
        elif language == "python":
            program.append(text)
        elif language == "console":
            for line in re.findall(r"^\$ (.*)$", text, re.MULTILINE):
                run(["bash", "-c", line], tmp_path)
    if program:
        (tmp_path / "snippets.py").write_text("\n\n".join(program))
        shown = run([sys.executable, "-W", "error", "snippets.py"], tmp_path)
        for printed in PRINTED.findall(page.read_text()):
            assert printed in shown


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_every_relative_link_of_a_page_leads_somewhere(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("overrides", [[], ["env=game/GuessTheNumber-v0-hard", "steps=5"]])
def test_the_example_trainer_runs(overrides, tmp_path):
    run([sys.executable, str(ROOT / "examples" / "compose.py"), *overrides], tmp_path)


def test_the_page_of_games_says_what_the_registry_says(tmp_path):
    page = tmp_path / "games.md"
    run([sys.executable, "docs/generate.py", "--episodes", "0", "--output", str(page)], ROOT)
    assert page.read_text() == (ROOT / "docs" / "games.md").read_text(), "run `make docs`"

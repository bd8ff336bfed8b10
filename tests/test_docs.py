"""What README and docs show is run as it is written: ``tests/support/doc_pages.py`` says how."""

import sys
from pathlib import Path

import pytest
from doc_links import broken_links
from doc_pages import run, run_page

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "docs/trainers/README.md",
]
TUTORIALS = sorted((ROOT / "docs/tutorials").glob("[!R]*.md"))  # not README.md


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_every_snippet_of_a_page_runs(page, tmp_path):
    run_page(page, tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_tutorial_runs_and_prints_what_it_shows(page, tmp_path):
    run_page(page, tmp_path, outputs=True)


LINKING = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "libs/*/*.md", "plugins/*/*.md", "templates/*/*.md")
    for path in ROOT.glob(pattern)
)


@pytest.mark.parametrize("page", LINKING, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_of_a_page_leads_to_a_file_and_a_heading(page):
    assert broken_links(page) == []


@pytest.mark.parametrize("overrides", [[], ["env=game/GuessTheNumber-v0-hard", "steps=5"]])
def test_the_example_trainer_runs(overrides, tmp_path):
    run([sys.executable, str(ROOT / "examples" / "compose.py"), *overrides], tmp_path)


@pytest.mark.parametrize(
    ("words", "name"),
    [(["generate_games.py"], "games.md"), (["generate_catalogue.py"], "catalogue.md")],
)
def test_a_generated_page_says_what_the_registry_says(words, name, tmp_path):
    page = tmp_path / name
    run([sys.executable, f"docs/{words[0]}", *words[1:], "--output", str(page)], ROOT)
    assert page.read_text() == (ROOT / "docs" / name).read_text(), "run `make docs`"

"""What docs show is run as it is written: ``tests/support/doc_pages.py`` says how."""

import re
import sys
from pathlib import Path

import pytest
from doc_pages import blocks_of, run, run_page

ROOT = Path(__file__).parents[2]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "docs/trainers/README.md"]
API = sorted((ROOT / "docs/reference").glob("gem_*/*.md"))
TUTORIALS = sorted((ROOT / "docs/tutorials").glob("[!R]*.md"))  # not README.md


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_example_of_a_page_runs(page, tmp_path):
    run_page(page, tmp_path)


@pytest.mark.parametrize("page", API, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_example_of_a_page_of_the_api_prints_what_it_shows(page, tmp_path):
    run_page(page, tmp_path)
    assert any(block.language == "python" for block in blocks_of(page.read_text()))


def test_a_figure_of_the_home_page_is_on_the_page_that_it_links_to():
    home = (ROOT / "docs/index.md").read_text()
    figures = re.findall(r"\[\*\*([\d.,]+)\*\* [^]]*\]\((\w+\.md)#", home)
    assert len(figures) == 3
    for figure, page in figures:
        assert re.search(
            rf"(?<![\d.,]){re.escape(figure)}(?![\d,])", (ROOT / "docs" / page).read_text()
        )


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_tutorial_runs_and_prints_what_it_shows(page, tmp_path):
    run_page(page, tmp_path, outputs=True)


def test_the_example_trainer_runs_without_arguments(tmp_path):
    run([sys.executable, str(ROOT / "examples" / "compose.py")], tmp_path)


@pytest.mark.parametrize("name", ["games", "catalogue"])
def test_a_generated_page_says_what_the_registry_says(name, tmp_path):
    page = tmp_path / f"{name}.md"
    run([sys.executable, f"docs/generate_{name}.py", "--output", str(page)], ROOT)
    assert page.read_text() == (ROOT / f"docs/{name}.md").read_text(), "run `make docs`"

"""The README's examples run as they are written, links lead somewhere, the example trainer runs.

The other pages run nightly.
"""

import sys
from pathlib import Path

import pytest
from doc_links import broken_links
from doc_pages import run, run_page

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_every_example_of_the_readme_runs(tmp_path):
    run_page(ROOT / "README.md", tmp_path)


def test_every_relative_link_of_a_page_leads_to_a_file_and_a_heading(subtests):
    places = ("*.md", "docs/**/*.md", "libs/*/*.md", "plugins/*/*.md", "templates/*/*.md")
    for page in sorted(page for place in places for page in ROOT.glob(place)):
        with subtests.test(page=str(page.relative_to(ROOT))):
            assert broken_links(page) == []


@pytest.mark.slow
def test_the_example_trainer_runs_in_another_environment(tmp_path):
    overrides = ["env=game/GuessTheNumber-v0-hard", "steps=5"]
    run([sys.executable, str(ROOT / "examples" / "compose.py"), *overrides], tmp_path)

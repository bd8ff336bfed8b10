"""The README's examples run as written, links lead somewhere, install lines are complete.

The other pages run nightly.
"""

import sys
from pathlib import Path

import pytest
from doc_installs import lacking
from doc_links import broken_links
from doc_pages import run, run_page

ROOT = Path(__file__).parents[1]
PLACES = (
    "*.md",
    "benchmarks/**/*.md",
    "decisions/*.md",
    "docs/**/*.md",
    "libs/*/*.md",
    "plugins/*/*.md",
    "templates/*/*.md",
)
PAGES = sorted(page for place in PLACES for page in ROOT.glob(place))


@pytest.mark.slow
def test_every_example_of_the_readme_runs(tmp_path):
    run_page(ROOT / "README.md", tmp_path)


def test_every_relative_link_of_a_page_leads_to_a_file_and_a_heading(subtests):
    for page in PAGES:
        with subtests.test(page=str(page.relative_to(ROOT))):
            assert broken_links(page) == []


def test_what_a_page_installs_is_enough_for_its_commands_and_environments(subtests):
    for page in PAGES:
        with subtests.test(page=str(page.relative_to(ROOT))):
            assert lacking(page) == []


def test_a_command_that_nobody_installed_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("    pip install gem-rg\n    gem-core eval rg:gcd agent=[oracle,openai]\n")
    assert lacking(page) == ["gem-core eval", "agent=[oracle,openai]"]


@pytest.mark.slow
def test_the_example_trainer_runs_in_another_environment(tmp_path):
    overrides = ["env=game/GuessTheNumber-v0-hard", "steps=5"]
    run([sys.executable, str(ROOT / "examples" / "compose.py"), *overrides], tmp_path)

"""The page of cheats has the right numbers."""

from pathlib import Path

from gem_terminal.cheats import CHEATS, PROGRAMS

PAGE = Path(__file__).parents[3] / "docs" / "cheats.md"


def test_the_page_counts_the_cheats():
    text = PAGE.read_text()
    total = len(CHEATS) + len(PROGRAMS)
    for number in (
        f"gem-core knows {total} of them",
        f"of {total} cheats are paid",
        f"of the {len(PROGRAMS)} that attack programs",
        f"of the {len(CHEATS)} others",
    ):
        assert number in text

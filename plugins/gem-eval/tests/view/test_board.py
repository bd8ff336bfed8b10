"""Boards of games, drawn in a real browser from their texts."""

import pytest
from view_browser import chromium, serving
from view_samples import write_many

from gem_core import make, make_agent

pytestmark = pytest.mark.slow

GRIDS = {
    "Crosswords-v0-easy": (9, 9),
    "FifteenPuzzle-v0": (3, 3),
    "FifteenPuzzle-v0-easy": (2, 2),
    "Game2048-v0-easy": (4, 4),
    "Hangman-v0-easy": (1, 3),
    "Minesweeper-v0-easy": (5, 5),
    "Sokoban-v0-easy": (6, 6),
    "Sudoku-v0": (9, 9),
    "Sudoku-v0-easy": (4, 4),
    "TowerofHanoi-v0-easy": (3, 3),
    "WordSearch-v0-easy": (12, 12),
}
"""The rows and columns of the boards of games."""

DRAW = """async ([text, earlier]) => {
  const { drawBoard } = await import("/board.js");
  const drawn = drawBoard(text, earlier ?? "");
  document.body.replaceChildren(...(drawn ? [drawn] : []));
}"""

SUDOKU = """\
Current board:
    C1 C2   C3 C4
R1   3  . |  .  1
R2   .  1 |  2  .
-----------------
R3   .  . |  3  .
R4   2  . |  .  .

Your next move:"""

TEXTS = (
    "",
    "Your next guess:",
    "Current page: Brinmouth\nTarget page: Brinmouth\nA town.\n\nLinks:\n\\boxed{Kiravia}",
    "I am to do it\nif he or we go",
    "1. Across from row 1, 6 letters: silver\n2. Down from row 3, 3 letters: dog",
    "drwxr-xr-x 2 root root 4096 out\ndrwxr-xr-x 2 root root 4096 log",
    "A: [3, 2, 1]",
)
"""Texts without a grid."""


@pytest.fixture(scope="module")
def boards():
    """Return the boards of games after five moves, played before the browser starts."""
    found = {}
    for name in GRIDS:
        env, agent = make(f"game:{name}"), make_agent("oracle")
        observation, info = env.reset(seed=3)
        agent.reset(env)
        for _ in range(1 if "Hanoi" in name else 3):
            step = env.step(agent.act(observation, info))
            if step.terminated or step.truncated:
                break
            observation, info = step.observation, step.info
        found[name] = info["suffix"]
    return found


@pytest.fixture(scope="module")
def browser(boards):
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):
    with serving(write_many(tmp_path_factory.mktemp("board") / "run.jsonl", 1)) as server:
        page = browser.new_page()
        page.goto(server.url)
        yield page
        page.close()


def drawn(page, text, earlier=None):
    """Draw a text, and return the texts of the rows' cells."""
    page.evaluate(DRAW, [text, earlier])
    rows = page.locator(".board tbody tr").all()
    return [row.locator(".board-cell").all_inner_texts() for row in rows]


def test_the_boards_of_games_are_grids(page, boards, subtests):
    """Every row and column is a row and column of a table, and no text is lost."""
    for name, (rows, columns) in GRIDS.items():
        with subtests.test(name):
            cells = drawn(page, boards[name])
            assert len(cells) == rows
            if "Hanoi" not in name:
                assert {len(row) for row in cells} == {columns}
            shown = "".join(page.locator(".board").inner_text().split())
            kept = "".join(boards[name].translate(str.maketrans("", "", "|[]:,-")).split())
            assert sorted(kept) == sorted(shown.translate(str.maketrans("", "", "|[]:,-")))


def test_labels_lines_and_the_text_around_are_kept(page):
    assert drawn(page, SUDOKU) == [list("3..1"), list(".12."), list("..3."), list("2...")]
    assert page.locator("th[scope=col]").all_inner_texts() == ["C1", "C2", "C3", "C4"]
    assert page.locator("th[scope=row]").all_inner_texts() == ["R1", "R2", "R3", "R4"]
    assert page.locator(".board-text").all_inner_texts() == ["Current board:", "Your next move:"]
    assert page.locator("td.board-bar").count() == 4
    assert page.locator(".board-rule th").inner_text() == "R3"


def test_cells_that_a_move_has_changed_are_marked(page):
    drawn(page, SUDOKU.replace("R4   2  .", "R4   2  4"), SUDOKU)
    assert page.locator(".board-changed").all_inner_texts() == ["4"]


def test_a_cell_that_a_move_has_emptied_is_marked_too(page):
    drawn(page, "A: [3, 2]\nB: []\nC: [1]", "A: [3, 2, 1]\nB: []\nC: []")
    assert page.locator(".board-changed").all_inner_texts() == ["", "1"]


def test_a_grid_of_too_many_cells_stays_text(page):
    row = " ".join("." * 100)
    assert len(drawn(page, "\n".join([row] * 25))) == 25
    assert drawn(page, "\n".join([row] * 26)) == []


def test_marks_of_letters_colour_them(page):
    cells = drawn(page, "Turn 3: you guessed BOY.\nB O Y\nX G X")
    assert cells == [list("BOY"), list("XGX")]
    assert page.locator(".board-exact").all_inner_texts() == ["O", "G"]


def test_an_empty_cell_between_lines_is_a_cell(page):
    cells = drawn(page, " X |   | O\n---+---+---\n   | X |\n---+---+---\n O |   | X")
    assert cells == [["X", "", "O"], ["", "X", ""], ["O", "", "X"]]


def test_a_text_without_a_grid_is_not_drawn(page, subtests):
    for text in TEXTS:
        with subtests.test(text[:20]):
            assert drawn(page, text) == []
            assert page.locator(".board").count() == 0


def test_the_boards_of_another_page_are_drawn_in_their_places(page):
    """The text stays where there is no grid."""
    page.evaluate(
        """async (board) => {
          const { drawBoards } = await import("/board.js");
          const texts = [board, "Your next guess:"];
          document.body.replaceChildren(...texts.map((text) => {
            const pre = document.createElement("pre");
            pre.className = "board";
            pre.textContent = text;
            return pre;
          }));
          drawBoards();
        }""",
        SUDOKU,
    )
    assert page.locator(".board > .board-grid table").count() == 1
    assert page.locator("pre.board").all_inner_texts() == ["Your next guess:"]

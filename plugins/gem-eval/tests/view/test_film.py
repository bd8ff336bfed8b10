"""Games in a real browser: the board first, beside the move that made it, and as a film."""

import re

import pytest
from view_browser import chromium, serving, write_page

from gem_core import BaseEnv, Step, make, make_agent
from gem_rollout import TrajectoryFile, collect

pytestmark = pytest.mark.slow

ENVS = ("game:Sudoku-v0-easy", "game:Wordle-v0-easy", "game:GuessTheNumber-v0-easy")


class ChangingEnv(BaseEnv):
    """Ends its observations with a wide board, then with a text, then with other text."""

    suffixes = ("\n".join([" ".join("." * 60)] * 2), "The lights are out.", "Lives: 1")

    def start(self):
        self.turn = 0
        return "Play.", {"suffix": self.suffixes[0]}

    def step(self, action):
        self.turn += 1
        said = "X O\nO X" if self.turn == 2 else "Go on."
        return Step(said, 0.0, self.turn == 2, False, {"suffix": self.suffixes[self.turn]})

    def sample_random_action(self):
        return "a"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return a run: a game with boards, one with marks, one without a board, one that changes."""
    path = tmp_path_factory.mktemp("film") / "run.jsonl"
    games = [(lambda env=env: make(env), "oracle") for env in ENVS]
    with TrajectoryFile(path) as file:
        for env, agent in (*games, (ChangingEnv, "random")):
            played = collect(env, lambda agent=agent: make_agent(agent), episodes=1, seed=0)
            for trajectory in played:
                file.append(trajectory)
    return path


@pytest.fixture(scope="module")
def browser(run):
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module", params=["served", "one file"])
def root(request, run, tmp_path_factory):
    """Return the URL of the page."""
    if request.param == "one file":
        yield write_page(tmp_path_factory.mktemp("page") / "page.html", run)
    else:
        with serving(run) as server:
            yield server.url


def title(page):
    return page.locator(".film-title h3").inner_text()


def film_cells(page):
    return page.locator(".film .board-cell").all_inner_texts()


def test_arrow_keys_and_space_play_a_game(open_page, root):
    """Each frame has its board, the move that made it and its reward."""
    page = open_page(f"{root}#/episode/0-0")
    start = film_cells(page)
    assert title(page) == "Start of 10 turns"
    page.keyboard.press("ArrowRight")
    assert title(page) == "Turn 1 of 10"
    assert page.locator(".film-title .reward").inner_text() == "reward +0.100"
    assert re.fullmatch(r"\\boxed\{\d \d \d\}", page.inner_text(".film .action pre"))
    made = film_cells(page)
    changed = [at for at, (old, new) in enumerate(zip(start, made, strict=True)) if old != new]
    assert len(changed) == 1
    assert page.locator(".film .board-changed").all_inner_texts() == [made[changed[0]]]
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert film_cells(page) == start
    page.keyboard.press(" ")
    page.wait_for_selector("text=Turn 2 of 10")
    page.keyboard.press(" ")
    page.wait_for_selector(".film [aria-label=Play]")
    paused = title(page)
    page.wait_for_timeout(1000)
    assert title(page) == paused
    page.click("[aria-label='Last board']")
    assert title(page) == "Turn 10 of 10"
    assert page.locator(".film-title .badge").inner_text() == "terminated"
    assert "You win!" in page.inner_text(".film-text")
    page.keyboard.press("ArrowRight")
    assert title(page) == "Turn 10 of 10"


def test_rules_are_open_at_the_start_and_folded_after(open_page, root):
    page = open_page(f"{root}#/episode/0-0")
    assert page.locator(".film-text pre").is_visible()
    page.keyboard.press("ArrowRight")
    assert "You are playing Sudoku" not in page.inner_text(".film-text")
    page.click(".film-text summary")
    page.wait_for_selector(".film-text >> text=You are playing Sudoku")


def test_the_url_names_the_board(open_page, root):
    """A link shows the same board to another person."""
    page = open_page(f"{root}#/episode/0-0")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.url.endswith("board=2")
    page.reload()
    page.wait_for_selector("text=Turn 2 of 10")
    page.goto("about:blank")
    page.goto(f"{root}#/episode/0-0?board=1.5")
    page.wait_for_selector("text=Turn 1 of 10")


def test_a_move_stands_beside_the_board_that_it_made(open_page, root):
    """The board comes first; the rules are only in the first turn."""
    page = open_page(f"{root}#/episode/0-0")
    turn = page.locator("#turn-3")
    board, action = turn.locator(".board").bounding_box(), turn.locator(".action").bounding_box()
    assert board["x"] + board["width"] <= action["x"]
    assert board["y"] < action["y"] + action["height"]
    assert turn.locator(".board-changed").count() == 1
    assert page.locator(".turn >> text=You are playing Sudoku").count() == 1


def test_keys_lead_to_the_next_episode_beside_a_film(open_page, root):
    """Arrows too where there is no board."""
    page = open_page(f"{root}#/episode/0-0")
    page.keyboard.press("n")
    page.wait_for_selector("text=2 of 4")
    page.keyboard.press("n")
    page.wait_for_selector("text=3 of 4")
    assert page.locator(".film").count() == 0
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector("text=2 of 4")
    page.keyboard.press("p")
    page.wait_for_selector("text=1 of 4")


def test_letters_of_a_guess_have_the_colours_of_their_marks(open_page, root):
    page = open_page(f"{root}#/episode/0-1?board=1")
    assert page.locator(".film .board-cell").count() >= 6
    kinds = {"G": "exact", "Y": "present", "X": "absent"}
    marks = page.locator(".film tbody tr").nth(1).locator(".board-cell").all()
    assert all(f"board-{kinds[one.inner_text()]}" in one.get_attribute("class") for one in marks)


def test_a_text_after_the_history_that_has_no_board_is_open(open_page, root):
    page = open_page(f"{root}#/episode/0-2")
    assert page.locator(".turn pre:has-text('Your next guess:')").first.is_visible()


def test_a_text_in_the_place_of_a_board_or_beside_one_is_shown(open_page, root):
    """Both in the film and in the turns."""
    page = open_page(f"{root}#/episode/0-3?board=1")
    for turn, text in enumerate(ChangingEnv.suffixes[1:], start=1):
        assert page.locator(f".film pre:has-text('{text}')").is_visible()
        assert page.locator(f"#turn-{turn} pre:has-text('{text}')").is_visible()
        page.keyboard.press("ArrowRight")


def test_arrow_keys_scroll_a_board_that_is_wider_than_its_place(open_page, root):
    """They go to the next board from any text that has its place."""
    page = open_page(f"{root}#/episode/0-3", size={"width": 390, "height": 800})
    page.focus(".film .board-grid")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.querySelector('.film .board-grid').scrollLeft > 0")
    assert title(page) == "Start of 2 turns"
    page.focus(".film-text pre")
    page.keyboard.press("ArrowRight")
    assert title(page) == "Turn 1 of 2"

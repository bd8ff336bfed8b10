"""Each page at three widths, light and dark: axe's findings, what keys reach, and a screenshot.

The screenshots are kept in ``build/viewer``, or in the folder ``GEM_SCREENSHOTS``.
"""

import itertools
import os
from pathlib import Path

import pytest
from selection import thorough
from training_samples import training_run
from view_browser import chromium, serving, serving_home
from view_samples import make_run, odd_trajectory

from gem_rollout import TrajectoryFile

pytestmark = pytest.mark.slow

SCREENSHOTS = Path(os.environ.get("GEM_SCREENSHOTS") or Path(__file__).parents[4] / "build/viewer")
WIDTHS = {"wide": 1280, "tablet": 768, "phone": 390}
SCHEMES = ("light", "dark")
# What is not left to the nightly run.
SOME_LOOKS = (("wide", "light"), ("wide", "dark"), ("tablet", "light"), ("phone", "dark"))
PAGES = {
    "overview": "#/",
    "episodes": "#/episodes?env=game:Hangman-v0-easy&series=0",
    "game": "#/episode/0-{game}?board=2",
    "tokens": "#/episode/0-{text}?tokens=logprob",
    "odd": "#/episode/2-0",
    "compare": "#/compare?env=game:Hangman-v0-easy",
    "sides": "#/compare?left=0-{game}&right=1-{game}",
    "training": "#/training",
}
"""The places of the pages, by the names of their screenshots."""
SOME_PAGES = ("overview", "episodes", "game", "compare", "training", "runs")

_RULES = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"],
    "resultTypes": ["violations"],
}
_BAD = {"serious", "critical"}
_IS_NEW = """() => {
  const seen = window.reached ??= new Set();
  const isNew = !seen.has(document.activeElement);
  seen.add(document.activeElement);
  return isNew;
}"""
_NOT_REACHED = """() => [...document.querySelectorAll("a[href], button, input, select, summary")]
  .filter((one) => one.checkVisibility() && !one.disabled && !window.reached.has(one))
  .map((one) => one.outerHTML.slice(0, 120))"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("looks")
    envs = ("game:Hangman-v0-easy", "game:GuessTheNumber-v0-easy")
    episodes = 26 if thorough() else 10
    make_run(folder / "before", "small", 0.5, episodes=episodes, envs=envs)
    make_run(folder / "after", "small", 0.8, episodes=episodes, envs=envs)
    with TrajectoryFile(folder / "odd.jsonl") as file:
        file.append(odd_trajectory("some text"))
    return [folder / "before", folder / "after", folder / "odd.jsonl", training_run(folder / "t")]


@pytest.fixture(scope="module")
def browser(runs):
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def server(runs):
    with serving(*runs) as server:
        yield server


@pytest.fixture(scope="module")
def places(server, runs):
    """Return the URLs of the pages; the episodes are the shortest of some turns."""
    sql = "SELECT number FROM episodes WHERE run = 0 AND env_id = ? AND turns > 2 ORDER BY turns"
    envs = {"game": "game:Hangman-v0-easy", "text": "game:GuessTheNumber-v0-easy"}
    first = {name: server.shown.rows(sql, [env])[0]["number"] for name, env in envs.items()}
    pages = {name: server.url + place.format(**first) for name, place in PAGES.items()}
    with serving_home(runs[0].parent) as home:
        yield {**pages, "runs": home.url}


def look_at(page, url):
    page.goto("about:blank")
    page.goto(url)
    page.wait_for_selector("main h1, main .empty")
    page.wait_for_function("() => !document.querySelector('main').inert")
    page.wait_for_timeout(100)  # plots are drawn when their width is known


@pytest.mark.parametrize("name", [*PAGES, "runs"] if thorough() else SOME_PAGES)
def test_a_page_has_no_serious_finding_and_is_not_cut(open_page, server, places, name, subtests):
    """Neither of contrast nor of names and roles; nothing scrolls sideways."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page = open_page(server.url)
    look_at(page, places[name])
    for width, scheme in itertools.product(WIDTHS, SCHEMES) if thorough() else SOME_LOOKS:
        with subtests.test(f"{width}, {scheme}"):
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": WIDTHS[width], "height": 900})
            page.wait_for_timeout(50)  # plots are drawn when their width is known
            page.screenshot(path=SCREENSHOTS / f"{name}-{width}-{scheme}.png", full_page=True)
            assert page.evaluate("document.documentElement.scrollWidth") <= WIDTHS[width]
            if width == "wide" or thorough():
                assert serious_findings(page, scheme) == []


def serious_findings(page, scheme):
    """Return what axe finds, in short; in the dark, only colours can differ."""
    from axe_playwright_python.sync_playwright import Axe

    rules = _RULES | (
        {"runOnly": {"type": "rule", "values": ["color-contrast"]}} if scheme == "dark" else {}
    )
    found = Axe().run(page, options=rules).response["violations"]
    return [_brief(one) for one in found if one["impact"] in _BAD]


def _brief(finding):
    nodes = [(node["html"][:100], node["failureSummary"][:160]) for node in finding["nodes"][:3]]
    return finding["id"], nodes


def test_everything_that_can_be_clicked_is_reached_with_the_keyboard(
    open_page, server, places, subtests
):
    """With the key Tab alone."""
    page = open_page(server.url)
    for name in places if thorough() else ("episodes", "game", "runs"):
        with subtests.test(name):
            look_at(page, places[name])
            page.keyboard.press("Tab")
            while page.evaluate(_IS_NEW):
                page.keyboard.press("Tab")
            assert page.evaluate(_NOT_REACHED) == []

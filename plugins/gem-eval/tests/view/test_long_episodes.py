"""Episodes whose observations have the whole history, in the index, in tables and on the page."""

import json
import random
from collections import defaultdict

import pytest
from click.testing import CliRunner
from view_browser import chromium, go_to, serving, write_page

from gem_core.content import Image
from gem_core.env import BaseEnv, Step
from gem_core.wrappers import HistoryWrapper
from gem_eval.view.export import export
from gem_eval.view.index import read_lines
from gem_eval.view.query import EpisodeQuery
from gem_eval.view.store import Store
from gem_rollout import Trajectory, TrajectoryFile, Turn, play_episode
from gem_rollout.records.observations import Observations

TURNS = 300
pytestmark = pytest.mark.slow


class Rooms(BaseEnv):
    """Each turn is in a room with a number; ``\N{CAT FACE}`` is two characters in JavaScript."""

    def start(self):
        self.room = 0
        return "You are in a house \N{CAT FACE}.", {"suffix": "Where to?"}

    def step(self, action):
        self.room += 1
        text = f"This is room {self.room} \N{CAT FACE}, and it is as empty as the others."
        return Step(text, 0.0, self.room == TURNS, False, {"suffix": "Where to?"})


class Walker:
    """Goes on, and remembers what it was shown."""

    def __init__(self):
        self.shown = []

    def reset(self, env):
        self.shown.clear()

    def act(self, observation, info):
        self.shown.append(observation)
        return "on"


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """Return a run of a long episode, and its observations."""
    agent, path = Walker(), tmp_path_factory.mktemp("long") / "run.jsonl"
    with TrajectoryFile(path) as file:
        file.append(play_episode(HistoryWrapper(Rooms(), include_action=True), agent, seed=0))
    return path, agent.shown


@pytest.fixture(scope="module")
def browser(long):
    with chromium() as browser:
        yield browser


def test_the_page_is_sent_what_is_new_in_each_turn(long):
    path, shown = long
    new, whole = len(shown[-1].encode()), sum(len(one.encode()) for one in shown)
    assert whole > 100 * new
    with Store([path]) as store:
        store.refresh()
        assert len(json.dumps(store.episode("0-0"))) < 10 * new


def test_a_search_finds_what_was_said_in_a_late_turn(long):
    path, _ = long
    with Store([path]) as store:
        store.refresh()
        for text, count in [("this is room 280 ", 1), ("this is room 999 ", 0)]:
            assert store.page(EpisodeQuery(text=text))["total"] == count


def test_tables_have_whole_observations(long):
    path, shown = long
    assert CliRunner().invoke(export, [str(path), "--to", "jsonl"]).exit_code == 0
    rows = [episode for _, _, episode in read_lines(path.parent / "turns.jsonl")]
    assert [row["observation"] for row in rows] == shown


@pytest.mark.parametrize("mode", ["served", "one file"])
def test_a_turn_shows_what_is_new_and_the_whole_when_it_is_opened(open_page, long, tmp_path, mode):
    path, shown = long
    with serving(path) as server:
        page = open_page(server.url if mode == "served" else write_page(tmp_path / "a.html", path))
        go_to(page, "#/episodes?q=this is room 280 ")
        assert page.locator(".row-link").count() == 1
        go_to(page, "#/episode/0-0")
        turn = page.locator("#turn-31")
        assert "Observation: new in this turn" in turn.inner_text()
        texts = turn.locator(".labelled").first.locator("pre")
        assert texts.count() == 1
        assert texts.inner_text().startswith("on\nThis is room 30 ")
        turn.locator("text=The whole observation").click()
        turn.locator("details .more").click()
        assert texts.nth(1).inner_text() == shown[30]


def test_scripts_put_any_observations_together(open_page, tmp_path):
    """Texts that move on, shrink and end differently, images, dicts, several agents."""
    rng, expected, path = random.Random(0), [], tmp_path / "run.jsonl"
    with TrajectoryFile(path) as file:
        for index in range(40):
            shown = [(rng.choice("ab"), one) for one in _observations(rng)]
            kept = defaultdict(Observations)
            turns = [
                Turn(name, kept[name].keep(one), "go", 0.0, False, False, {}) for name, one in shown
            ]
            file.append(Trajectory("test:Env-v0", "a", index, 7, turns))
            expected.append([_as_json(one) for _, one in shown])
    assert '"shares":{"text":' in path.read_text()
    with serving(path) as server:
        page = open_page(server.url)
        found = page.evaluate(
            """async (count) => {
              const { withObservations } = await import("/observations.js");
              const ask = async (at) => (await fetch(`/api/episode?id=0-${at}`)).json();
              const found = await Promise.all([...Array(count).keys()].map(ask));
              const turns = found.map(({ episode }) => withObservations(episode).turns);
              return JSON.stringify(turns.map((all) => all.map((turn) => turn.observation)));
            }""",
            len(expected),
        )
    assert json.loads(found) == expected


def _as_json(value):
    return json.loads(json.dumps(value, default=Image.to_json))


def _observations(rng):
    """Yield observations that share parts with those before."""
    text, images = "", []
    for _ in range(rng.randrange(1, 12)):
        left, right = rng.choice([0, 0, 0, 1, 300]), rng.choice([0, 0, 1, 30, 300, 10_000])
        piece = "".join(rng.choices("ab\n\N{CAT FACE}\u00e9", k=rng.choice([0, 1, 5, 30])))
        text = text[left : max(left, len(text) - right)] + piece * rng.choice([1, 20, 40])
        new = Image(rng.randbytes(1) * 300, "image/png")
        images = [*images[rng.choice([0, 0, 0, 1]) :], new]
        page = {"text": text, "images": images, "__proto__": text, "page": {"text": text, "n": 3}}
        yield rng.choice([text, text, page, page, images, None, 3.5, ["a", [1]]])

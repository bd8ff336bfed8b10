"""The page in a real browser, served and as one file."""

import json
import re

import pytest
from click.testing import CliRunner
from dialogue_samples import SAID, both_seats_trajectory, dialogue_trajectory, users_trajectory
from selection import thorough
from view_browser import PHONE, WIDE, chromium, go_to, serving, write_page
from view_samples import make_run, odd_dialogue, odd_trajectory, terminal_trajectory, write_many

from gem_core.info import graded
from gem_eval.view.command import view
from gem_rollout import Trajectory, TrajectoryFile, Turn
from gem_rollout.records.runs import Run

HOSTILE = {
    "script": "<script>window.hacked = 1</script>",
    "image": "<img src=x onerror='window.hacked = 1'>",
    "end of script": "</script><script>window.hacked = 1</script><!-- <script>",
    "end of style": "</style><svg onload='window.hacked = 1'>",
    "attribute": '" onmouseover="window.hacked = 1" x=\'',
    "template": "${window.hacked = 1} {{constructor.constructor('window.hacked = 1')()}}",
    "link": "javascript:window.hacked=1",
    "prototype": "__proto__",
    "data image": "data:image/svg+xml;base64,PHN2Zy8+",
}
if not thorough():  # what need not be the whole text is one
    _MARKUP = ("script", "image", "end of style", "attribute", "template")
    HOSTILE = {"markup": "".join(map(HOSTILE.pop, _MARKUP)), **HOSTILE}
UNSEEN = "a\x1b[31mred\u202eabc\u200bd\u2066e\ufefff\x07\u2028g\U000e0041"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    envs = ("game:GuessTheNumber-v0-easy", "game:Mastermind-v0-easy")
    make_run(folder / "before", "small", 0.5, episodes=30, envs=envs)
    make_run(folder / "after", "small", 0.8, episodes=30, envs=envs)
    return [folder / "before", folder / "after"]


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Return the run of a real episode at a terminal, and why there is none."""
    path = tmp_path_factory.mktemp("terminal") / "run.jsonl"
    trajectory = terminal_trajectory()
    with TrajectoryFile(path) as file:
        file.append(trajectory)
    return path, "" if trajectory.error is None else trajectory.error["message"]


@pytest.fixture(scope="module")
def talked(tmp_path_factory):
    """Return a run of dialogues: of the assistant, of both, of the user, and one cut off."""
    path = tmp_path_factory.mktemp("dialogues") / "run.jsonl"
    with TrajectoryFile(path) as file:
        for trajectory in (
            dialogue_trajectory(),
            both_seats_trajectory(),
            users_trajectory(),
            dialogue_trajectory(max_turns=3),
        ):
            file.append(trajectory)
    return path


@pytest.fixture(scope="module")
def browser(runs, played, talked):  # the runs first: they use their own event loop
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def server(runs):
    with serving(*runs) as server:
        yield server


def cells(page, column):
    return page.locator(f"tbody .column-{column}").all_inner_texts()


pytestmark = pytest.mark.slow


class TestOverview:
    """Figures and plots."""

    def test_the_overview_shows_figures_plots_and_units(self, open_page, server):
        """Cards, bars with intervals, axes."""
        page = open_page(server.url)
        assert page.locator(".card-value").first.inner_text() == "120"
        text = page.locator("main").inner_text()
        for title in ("Success by environment", "Over time", "Returns", "Turns", "Time by part"):
            assert title in text
        page.wait_for_selector(".plot svg")
        assert page.locator(".plot svg").count() == 3
        assert page.locator(".track-whisker").count() == 4
        titles = page.locator(".axis-title").all_text_contents()
        assert "episodes finished" in titles
        assert "return of an episode" in titles

    def test_a_bar_leads_to_its_episodes(self, open_page, server):
        """The name of an environment is a link to the filtered table."""
        page = open_page(server.url)
        page.click(".bars-name a >> text=Mastermind")
        page.wait_for_selector("table.episodes")
        assert set(page.locator(".row-link").all_inner_texts()) == {"game:Mastermind-v0-easy"}

    def test_the_overview_can_be_that_of_one_environment(self, open_page, server):
        """The figures are then of its episodes."""
        page = open_page(server.url)
        page.select_option("select", "game:Mastermind-v0-easy")
        page.wait_for_function("() => document.querySelector('.card-value').textContent === '60'")

    def test_a_run_without_episodes_says_so(self, open_page, tmp_path):
        """Every page has something to say before the first episode has ended."""
        (tmp_path / "run.jsonl").touch()
        with serving(tmp_path / "run.jsonl") as server:
            page = open_page(server.url)
            assert "No episodes yet" in page.inner_text("main")
            go_to(page, "#/episodes")
            assert "No episodes yet" in page.inner_text("main")
            go_to(page, "#/compare")
            assert "gem-core view RUN_A RUN_B" in page.inner_text("main")

    def test_the_head_of_an_episode_says_what_was_expected_and_read(self, open_page, tmp_path):
        """Nothing of it is interpreted; the table of episodes has the cause of the failure."""
        markup = next(iter(HOSTILE.values()))
        info = {"correct": False, "format_error": True}
        info["grading"] = graded(
            question="What is 2 + 2?", expected="4", extracted=markup, score=0, reason="no box"
        )
        turn = Turn("a", "What is 2 + 2?", "four", 0.0, True, False, info)
        with TrajectoryFile(tmp_path / "run.jsonl") as file:
            file.append(Trajectory("acme:Sums", "a", 0, 7, [turn], success=False))
        with serving(tmp_path / "run.jsonl") as server:
            page = open_page(server.url)
            go_to(page, "#/episodes")
            assert cells(page, "cause") == ["format"]
            assert "instead of 4 · no box" in page.inner_text("tbody .preview")
            go_to(page, "#/episode/0-0")
            rows = page.locator(".episode-head .grading dl > div")
            assert rows.nth(0).inner_text().split() == ["expected", "4"]
            assert markup in rows.nth(1).inner_text()
            assert rows.nth(2).inner_text().split() == ["verdict", "wrong", "format", "no", "box"]
            page.click(".grading summary")
            assert page.inner_text(".grading details pre") == "What is 2 + 2?"
            assert page.evaluate("() => window.hacked") is None

    def test_the_head_of_a_run_says_what_was_run(self, open_page, tmp_path):
        """The command, the agent, the tasks, versions, and whatever else run.json has."""
        config = {"episodes": 3, "samples": 2, "seed": 7}
        config["agent"] = {"base": {"id": "openai", "model": "small", "temperature": 0.5}}
        run = Run.create(
            tmp_path / "run",
            command=["gem-core", "eval", "env=many/Env00"],
            config=config,
            envs=["many:Env00"],
            agents=["base"],
            git={"commit": "0123abc" * 5, "dirty": True},
            parameters={"many:Env00": {"id": "many:Env00", "max_turns": 3}},
            data={"many:Env00": {"name": "rows.jsonl", "version": "sha256:" + "0123abc" * 9}},
            models={"base": ["small-2026-01-31 (fp_1)"]},
        )
        write_many(run.trajectories_path, 10)
        with serving(run.path) as server:
            page = open_page(server.url)
            facts = page.locator(".run-head .facts div").all_inner_texts()
            known = dict(fact.split("\n") for fact in facts)
            assert known.pop("started")
            assert known == {
                "agent": "base: small (openai, temperature 0.5)",
                "environments": "many:Env00",
                "tasks": "3 of each environment",
                "samples": "2 of each task",
                "seed": "7",
                "model": "small-2026-01-31 (fp_1)",
                "data": "rows.jsonl (sha256:0123abc0123a)",
                "gem-core": run.info()["versions"]["gem-core"],
                "Python": run.info()["python"],
                "git commit": "0123abc0123a with changes",
                "platform": run.info()["platform"],
            }
            assert page.inner_text(".run-head .labelled pre") == "gem-core eval env=many/Env00"
            for number, (name, key) in enumerate(
                [("Configuration", "config"), ("Parameters of the environments", "parameters")]
            ):
                page.click(f"text={name}")
                shown = page.locator(".run-head details").nth(number).locator("pre").inner_text()
                assert json.loads(shown) == run.info()[key]

    def test_new_episodes_of_a_run_are_offered(self, open_page, tmp_path):
        """A button says how many episodes are new, and shows them."""
        path = write_many(tmp_path / "run.jsonl", 10)
        more = write_many(tmp_path / "more.jsonl", 5).read_bytes()
        with serving(path) as server:
            page = open_page(server.url)
            page.wait_for_load_state("networkidle")
            with path.open("ab") as file:
                file.write(more)
            page.click("text=5 new episodes: show")
            page.wait_for_function(
                "() => document.querySelector('.card-value').textContent === '15'"
            )


class TestTable:
    """Filters, order, pages, all of it in the URL."""

    def test_the_url_holds_filters_and_order(self, open_page, server):
        """A link shows the same rows to another person."""
        page = open_page(f"{server.url}#/episodes")
        page.click("text=Failed")
        page.wait_for_function("() => location.hash.includes('outcome=failed')")
        page.click("th >> text=turns")
        page.wait_for_function("() => location.hash.includes('sort=turns')")
        page.wait_for_selector("th[aria-sort=descending]")
        turns = [int(text) for text in cells(page, "turns")]
        assert turns == sorted(turns, reverse=True)
        assert set(cells(page, "outcome")) == {"failed"}
        other = open_page(page.url)
        other.wait_for_selector("table.episodes")
        assert cells(other, "number") == cells(page, "number")

    def test_a_click_while_the_next_rows_load_keeps_the_filter(self, open_page, server):
        """What is still shown of the place before cannot be clicked."""
        page = open_page(f"{server.url}#/episodes")
        page.route(
            "**/api/episodes*",
            lambda route: (page.wait_for_timeout(500), route.continue_()),
        )
        page.click("text=Failed")
        page.click("th >> text=turns")
        page.wait_for_selector("th[aria-sort=descending]")
        assert "outcome=failed" in page.url
        assert set(cells(page, "outcome")) == {"failed"}

    def test_the_search_keeps_the_focus_while_rows_load_again_and_again(self, open_page, server):
        """Also if the next rows are asked for before the last ones have come."""
        page = open_page(f"{server.url}#/episodes")
        page.route(
            "**/api/episodes*",
            lambda route: (page.wait_for_timeout(300), route.continue_()),
        )
        page.focus("#search")
        page.evaluate("() => { location.hash = '#/episodes?outcome=failed' }")
        page.wait_for_function("() => document.querySelector('main').inert")
        page.evaluate("() => { location.hash = '#/episodes?outcome=success' }")
        page.wait_for_function("() => !document.querySelector('main').inert")
        assert set(cells(page, "outcome")) == {"success"}
        assert page.evaluate("document.activeElement.id") == "search"

    def test_the_back_button_leads_through_the_earlier_pages(self, open_page, server):
        """The browser's own buttons work."""
        page = open_page(f"{server.url}#/episodes")
        page.click("a.button >> text=Next")
        page.wait_for_selector("text=51 to 100 of 120")
        page.click(".row-link >> nth=0")
        page.wait_for_selector("text=Final observation")
        page.go_back()
        page.wait_for_selector("text=51 to 100 of 120")
        page.go_back()
        page.wait_for_selector("text=1 to 50 of 120")

    def test_a_search_finds_observations_and_actions(self, open_page, server):
        """The text is looked for in observations and actions, whatever the case."""
        page = open_page(f"{server.url}#/episodes")
        page.fill("#search", "MASTERMIND")
        page.press("#search", "Enter")
        page.wait_for_selector("text=1 to 50 of 60")
        page.fill("#search", "nobody ever said this")
        page.press("#search", "Enter")
        page.wait_for_selector("text=No matching episodes")
        page.click("text=Clear all filters")
        page.wait_for_selector("text=1 to 50 of 120")

    def test_the_table_and_its_episodes_can_be_used_by_keyboard(self, open_page, server):
        """From the search to an episode, on to the next one, and back."""
        page = open_page(f"{server.url}#/")
        page.keyboard.press("e")
        page.wait_for_selector("table.episodes")
        page.keyboard.press("/")
        assert page.evaluate("document.activeElement.id") == "search"
        page.keyboard.press("Escape")
        for key in "jjk":
            page.keyboard.press(key)
        second = page.locator(".row-link").nth(0).get_attribute("href")
        assert page.evaluate("document.activeElement.getAttribute('href')") == second
        page.keyboard.press("Enter")
        page.wait_for_selector("text=1 of 120")
        page.keyboard.press("ArrowRight")
        page.wait_for_selector("text=2 of 120")
        page.keyboard.press("u")
        page.wait_for_selector("table.episodes")
        page.keyboard.press("?")
        assert page.locator("dialog.help").is_visible()
        page.keyboard.press("Escape")
        page.keyboard.press("c")
        page.wait_for_selector("text=Shared tasks")


class TestEpisode:
    """Turn by turn."""

    @pytest.fixture(scope="class")
    @classmethod
    def odd(cls, tmp_path_factory):
        """Serve an episode with all that an episode can have."""
        path = tmp_path_factory.mktemp("odd") / "run.jsonl"
        with TrajectoryFile(path) as file:
            file.append(odd_trajectory("some text"))
            long = odd_trajectory("line\n" * 2000)
            long.env_id = long.agent = long.error["boundary"] = "long"
            file.append(long)
            many = odd_trajectory("x", env_id="many", error=None, failures=[])
            many.turns = many.turns * 100
            file.append(many)
        with serving(path) as server:
            yield server

    def test_an_episode_shows_all_that_happened_in_it(self, open_page, odd):
        """Observation, action, reward, flags, tool calls, messages, errors."""
        page = open_page(f"{odd.url}#/episode/0-0")
        text = page.inner_text("main")
        for part in (
            "Turn 1",
            "reward +0.500",
            "terminated",
            "2 tool calls",
            "failed",
            "Traceback",
        ):
            assert part in text
        assert "Attempt 1 failed" in text
        assert "The episode ended with an error" in text
        page.click("text=1 message to the model")
        page.wait_for_selector(".message")

    @pytest.mark.parametrize(
        ("colouring", "kinds"),
        [
            ("logprob", ["token surprise-0", "token surprise-5"]),
            ("mask", ["token prompt unknown", "token trained", "token trained"]),
            ("advantage", ["token gain-3", "token loss-5"]),
        ],
    )
    def test_tokens_are_coloured(self, open_page, odd, colouring, kinds):
        """By log-probability, by mask, by advantage; the legend says how."""
        page = open_page(f"{odd.url}#/episode/0-0?tokens={colouring}")
        tokens = page.locator(".tokens .token")
        shown = [tokens.nth(at).get_attribute("class") for at in range(tokens.count())]
        assert [re.sub(r"^token\s+", "token ", name) for name in shown] == kinds
        assert page.locator(".token-legend li").count() >= 3
        assert "log-probability \N{MINUS SIGN}0.1" in tokens.nth(len(kinds) - 2).get_attribute(
            "title"
        )

    def test_long_texts_are_folded(self, open_page, odd):
        """All of it can be shown, and copied unchanged."""
        page = open_page(
            f"{odd.url}#/episode/0-1", permissions=["clipboard-read", "clipboard-write"]
        )
        box = page.locator(".action .block")
        assert box.locator("pre").inner_text().count("line") < 50
        box.locator(".more").click()
        assert box.locator("pre").inner_text().count("line") == 2000
        box.locator(".copy").click()
        page.wait_for_selector("text=Copied")
        assert page.evaluate("navigator.clipboard.readText()") == "line\n" * 2000

    def test_many_turns_are_shown_step_by_step(self, open_page, odd):
        """A hundred turns are built step by step."""
        page = open_page(f"{odd.url}#/episode/0-2")
        assert page.locator(".turn").count() == 40
        page.click("text=Show the next 40 of 60 turns")
        page.click("text=Show the next 20 of 20 turns")
        assert page.locator(".turn").count() == 100

    def test_a_link_leads_to_a_turn(self, open_page, odd):
        """Also to one that is only made when it is asked for; each turn has such a link."""
        permissions = ["clipboard-read", "clipboard-write"]
        page = open_page(f"{odd.url}#/episode/0-2?env=many&turn=77", permissions=permissions)
        page.wait_for_selector("#turn-77.current-turn")
        assert page.evaluate("document.activeElement.id") == "turn-77"
        assert 0 < page.locator("#turn-77").bounding_box()["y"] < 400
        page.click("#turn-78 .copy >> text=Copy link")
        page.wait_for_selector("#turn-78 >> text=Copied")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied == page.url.replace("turn=77", "turn=78")
        page.evaluate("() => { document.querySelector('#turn-77').dataset.kept = '1' }")
        page.click("#turn-78 .turn-link")
        page.wait_for_selector("#turn-78.current-turn")
        page.go_back()
        page.wait_for_selector("#turn-77.current-turn[data-kept]")
        assert page.locator(".turn").count() == 80

    @pytest.mark.parametrize("turn", ["101", "0", "x"])
    def test_a_link_to_a_turn_that_does_not_exist_says_so(self, open_page, odd, turn):
        page = open_page(f"{odd.url}#/episode/0-2?turn={turn}")
        notice = page.inner_text(".notice")
        assert notice == f"The link names turn {turn}, but this episode has 100 turns."

    def test_keys_lead_to_errors_and_rewards_and_to_episodes_that_failed(self, open_page, tmp_path):
        """A turn of a wrong form, a reward, and an error at the end."""
        path = write_many(tmp_path / "run.jsonl", 12, turns=60)
        episodes = [json.loads(line) for line in path.read_text().splitlines()]
        for index, one in enumerate(episodes):
            one |= {"success": index not in (4, 8), "error": None}
            for turn in one["turns"]:
                turn["reward"] = 0.0
        episodes[4]["turns"][2]["info"]["format_error"] = True
        episodes[4]["turns"][49]["reward"] = -1.0
        episodes[8]["error"] = {"boundary": "env", "type": "E", "message": "m", "traceback": ""}
        path.write_text("".join(json.dumps(one) + "\n" for one in episodes))
        with serving(path) as server:
            page = open_page(f"{server.url}#/episode/0-0")
            assert page.locator(".marks").count() == 0
            page.keyboard.press("f")
            page.wait_for_selector("text=5 of 12")
            links = page.locator(".marks li").all_inner_texts()
            assert links == ["Turn 3 format error", "Turn 50 reward \N{MINUS SIGN}1.000"]
            for key, turn in (("x", 3), ("x", 50), ("x", 3), ("X", 50), ("X", 3)):
                page.keyboard.press(key)
                page.wait_for_selector(f"#turn-{turn}.current-turn")
            page.keyboard.press("f")
            page.wait_for_selector("text=9 of 12")
            assert page.locator(".marks li").all_inner_texts() == ["Turn 60 error"]
            page.keyboard.press("F")
            page.wait_for_selector("text=5 of 12")
            page.close()
        url = write_page(tmp_path / "page.html", path)
        page = open_page(f"{url}#/episode/0-4?turn=50")
        page.wait_for_selector("#turn-50.current-turn")
        page.keyboard.press("f")
        page.wait_for_selector("text=9 of 12")

    def test_an_unknown_episode_is_reported(self, server, browser):
        page = browser.new_context().new_page()  # the console tells of the answer 400
        page.goto(f"{server.url}#/episode/0-9999")
        page.wait_for_selector("text=There is no episode '0-9999'.")
        page.context.close()


class TestATerminal:
    """An episode at a terminal, as one would see it there."""

    @pytest.fixture(scope="class")
    @classmethod
    def terminal(cls, played):
        """Serve a real episode."""
        path, error = played
        if error:
            pytest.skip(f"no machine can be started here: {error}")
        with serving(path) as server:
            yield server

    @pytest.fixture(scope="class")
    @classmethod
    def page(cls, open_page_for_class, terminal):
        """Show the episode."""
        return open_page_for_class(f"{terminal.url}#/episode/0-0")

    def test_commands_have_prompts_outputs_and_badges(self, page):
        """The directory, what was typed into a program, the exit status in its colour."""
        typed = page.locator(".terminal-typed").all_inner_texts()
        assert typed[0] == "/app $ ls -l\ncat names.txt"
        assert typed[3] == "input > Ada"
        assert typed[4] == "/app/out $ cat missing.txt"
        states = page.locator(".terminal-state")
        assert states.nth(0).locator(".badge:not(.error):not(.failed)").inner_text() == (
            "exit status 0"
        )
        assert states.nth(2).locator(".badge.failed").inner_text() == "still running"
        assert states.nth(4).locator(".badge.error").inner_text() == "exit status 1"
        outputs = page.locator(".terminal-output")
        assert outputs.nth(3).inner_text().strip().endswith("hello Ada")
        assert "No such file" in outputs.nth(4).inner_text()

    def test_a_long_output_shows_its_head_and_tail(self, page):
        """What lies between is marked, and can be shown."""
        long = page.locator(".turn").nth(1)
        output = long.locator(".terminal-output")
        assert output.inner_text().startswith("line 1\nline 2\n")
        assert output.inner_text().strip().endswith("line 4000")
        assert "bytes left out" in long.locator(".terminal-state").inner_text()
        assert "line 20\n" not in output.inner_text()
        long.locator(".terminal-more").click()
        assert "line 20\n" in output.inner_text()
        assert "bytes left out]" in output.inner_text()

    def test_the_end_shows_the_parts_of_the_reward_and_the_files(self, page):
        """Rewards by name, files by what became of them, what the tests printed."""
        last = page.locator(".turn").last
        text = last.inner_text()
        assert re.search(r"sorted\s+1.000\s+tidy\s+0.500", text)
        assert last.locator(".file-new").all_inner_texts() == [
            "+/app/out/sorted.txt",
            "+/app/re.py",
        ]
        assert last.locator(".file-changed").all_inner_texts() == ["~/app/old.txt"]
        assert last.locator(".file-deleted").all_inner_texts() == ["\N{MINUS SIGN}/app/draft.txt"]
        assert "Files left out of grading\n/app/re.py" in text
        assert "2 passed, 1 failed" in text

    def test_an_observation_that_repeats_the_output_is_folded(self, page):
        """It can be opened; the first observation, the task, is open."""
        assert "Sort names.txt" in page.locator(".turn").first.inner_text()
        second = page.locator(".turn").nth(1)
        assert "[exit status 0, in /app]" not in second.inner_text()
        second.locator("text=Observation: what the terminal printed").click()
        page.wait_for_selector("text=[exit status 0, in /app]")

    def test_values_of_another_shape_are_shown_as_they_are(self, open_page, tmp_path):
        """Other environments may use the same names."""
        path = tmp_path / "run.jsonl"
        odd = odd_trajectory("x")
        odd.turns[0].info = {
            "rewards": [1, 2],
            "changed_files": {"new": 3},
            "left_behind": "nothing",
            "verifier_output": {"a": 1},
            "tool_calls": "none",
            "patch": 7,
            "results": "none",
        }
        with TrajectoryFile(path) as file:
            file.append(odd)
        with serving(path) as server:
            page = open_page(f"{server.url}#/episode/0-0")
            page.click("text=/^Info$/")
            shown = page.locator(".turn details pre").last.inner_text()
            assert json.loads(shown) == odd.turns[0].info


def rows_of(table):
    """Return the rows of a table as lists of texts."""
    return [row.locator("th, td").all_inner_texts() for row in table.locator("tr").all()]


class TestARepository:
    """The end of an episode in a repository."""

    PATCH = (
        "diff --git a/m.py b/m.py\n--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@\n-x < <b>1</b>\n+x <= 1\n"
    )
    RESULTS = (
        {
            "test": "t.py::test_a",
            "expression": "f(1)",
            "expected": "1",
            "before": "2",
            "after": "1",
        },
        {
            "test": "t.py::test_b",
            "expression": "f(2)",
            "expected": "4",
            "before": "2",
            "after": "3",
        },
    )

    @pytest.fixture
    def page(self, open_page, tmp_path):
        """Show an episode with a patch and results."""
        path = tmp_path / "run.jsonl"
        odd = odd_trajectory("x")
        odd.turns[0].info = {"patch": self.PATCH, "results": list(self.RESULTS)}
        with TrajectoryFile(path) as file:
            file.append(odd)
        with serving(path) as server:
            yield open_page(f"{server.url}#/episode/0-0")

    def test_the_patch_is_shown_in_colours(self, page):
        """Its text is not taken for HTML."""
        assert page.locator(".patch .patch-old").all_inner_texts() == ["-x < <b>1</b>"]
        assert page.locator(".patch .patch-new").all_inner_texts() == ["+x <= 1"]

    def test_what_came_before_and_after_stands_beside_what_was_expected(self, page):
        """Tests that pass now look different from those that still fail."""
        assert rows_of(page.locator("table.changes"))[1:] == [
            ["t.py test_a"],
            ["✓1. f(1)", "2", "1", ""],
            ["t.py test_b"],
            ["✗2. f(2)", "2", "3", "4"],
        ]


class TestADialogue:
    """An episode of a dialogue over a database."""

    @pytest.fixture(scope="class")
    @classmethod
    def dialogues(cls, talked):
        """Serve the dialogues."""
        with serving(talked) as server:
            yield server

    @pytest.fixture(scope="class")
    @classmethod
    def page(cls, open_page_for_class, dialogues):
        """Show the episode of the assistant."""
        return open_page_for_class(f"{dialogues.url}#/episode/0-0")

    def test_messages_stand_in_order_with_those_who_wrote_them(self, page):
        """The outputs of calls are not messages."""
        heads = page.locator(".move-head b").all_inner_texts()
        assert heads == [
            *("User", "Assistant", "User", "Call", "Call", "Assistant", "User", "Call"),
            *("Assistant", "User", "Assistant", "User", "Assistant"),
        ]
        assert page.locator(".user .bubble").all_inner_texts() == list(SAID)
        left = page.locator(".user .bubble").first.bounding_box()
        right = page.locator(".assistant .bubble").first.bounding_box()
        assert left["x"] < right["x"]

    def test_calls_are_folded_with_arguments_and_results(self, page):
        """Failed ones and those that write are marked."""
        calls = page.locator(".call")
        summaries = [one.inner_text().split() for one in calls.locator("> summary").all()]
        assert summaries[0] == ["failed", "find_book", "reads", "Oak"]
        assert summaries[2] == ["ok", "lend", "writes", "r1,", "b1,", "3"]
        assert not page.locator("text=There is no such book").count()
        calls.nth(0).locator("summary").click()
        page.wait_for_selector("text=Error: There is no such book")
        calls.nth(1).locator("summary").click()
        assert '"room": "North"' in calls.nth(1).locator(".call-parts").inner_text()
        page.click("text=What the assistant wrote")
        page.wait_for_selector("text=I lend it now.")

    def test_the_database_shows_what_was_expected_and_what_is_missing(self, page):
        """Each change has a record, a field, the values, and a mark."""
        assert rows_of(page.locator("table.changes")) == [
            ["Field", "Before", "After", "Expected"],
            ["books b1"],
            ["✓copies", "2", "1", ""],
            ["loans r1-b1"],
            ["✗whole record", "none", '{"weeks":3}', ""],
            ["✗weeks", "", "3", "2"],
            ["readers r1"],
            ["✓loans/0", "none", "b1", ""],
            ["○phone", "555-0100", "555-0100", "555-0199"],
        ]

    def test_the_parts_of_the_reward_say_what_they_miss(self, page):
        """And the page says how the dialogue ended, and what the assistant was given."""
        aside = page.locator(".dialogue-aside")
        assert re.search(r"0\s*db\s*0\s*communicate\s*missing: row 4", aside.inner_text())
        assert "The user ended it." in aside.inner_text()
        assert "The user was played by replay." in aside.inner_text()
        page.click("text=Policy and functions")
        page.wait_for_selector("text=Ask before you change data.")

    def test_turns_of_both_seats_show_the_same_dialogue(self, page, open_page, dialogues):
        """With the greeting, and with the user's last word."""
        one = page.locator(".bubble").all_inner_texts()
        page = open_page(f"{dialogues.url}#/episode/0-1")
        both = page.locator(".bubble").all_inner_texts()
        assert both == ["Hello! How can I help you today?", *one, "###STOP###"]
        page.click("text=The user's situation")
        page.wait_for_selector("text=What you want, one after the other")

    def test_the_view_of_the_user_has_the_same_sides(self, open_page, dialogues):
        """The agent that acts is the user."""
        page = open_page(f"{dialogues.url}#/episode/0-2")
        assert page.locator(".user .bubble").all_inner_texts() == [
            "Ash, please.",
            "I am Ida Holm.",
            "Never mind. ###STOP###",
        ]
        assert page.locator(".assistant .bubble").count() == 3

    def test_a_dialogue_that_was_cut_off_is_not_graded(self, open_page, dialogues):
        """Nothing is called missing."""
        page = open_page(f"{dialogues.url}#/episode/0-3")
        text = page.inner_text(".dialogue-aside")
        assert "(nothing changed)" in text
        assert "(not graded)" in text
        assert "It reached the limit of turns (max_turns)." in text

    def test_the_turns_can_be_shown_instead(self, open_page, dialogues):
        """The choice is in the URL and is kept for the next episode."""
        page = open_page(f"{dialogues.url}#/episode/0-0")
        page.click(".segments >> text=Turns")
        page.wait_for_selector(".turn")
        assert "show=turns" in page.url
        last = page.locator(".turn").last.inner_text()
        assert re.search(r"db\s+0.000\s+communicate\s+0.000", last)
        assert "whole record" in last
        page.click("text=Next")
        page.wait_for_selector("h1:has-text('DialogueEnv')")
        assert page.locator(".turn").count() == 14
        page.click(".segments >> text=Dialogue")
        page.wait_for_selector(".moves")

    @pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
    def test_nothing_is_wider_than_the_screen(self, open_page, dialogues, size):
        """On a phone, the database is below the messages."""
        page = open_page(f"{dialogues.url}#/episode/0-0", size=size)
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        moves = page.locator(".moves").bounding_box()
        beside = page.locator(".dialogue-aside").bounding_box()
        assert (beside["y"] >= moves["y"] + moves["height"]) == (size is PHONE)

    def test_values_of_another_shape_are_shown_as_turns(self, open_page, tmp_path):
        """Other environments may use the same names."""
        path = tmp_path / "run.jsonl"
        odd = odd_trajectory("x")
        odd.turns[0].info = {"ended_by": "x", "db_diff": [{"table": 1}], "rewards": ["x"]}
        with TrajectoryFile(path) as file:
            file.append(odd)
        with serving(path) as server:
            page = open_page(f"{server.url}#/episode/0-0")
            page.click("text=/^Info$/")
            shown = page.locator(".turn details pre").last.inner_text()
            assert json.loads(shown) == odd.turns[0].info


class TestCompare:
    """Two sides on the same task."""

    def test_tasks_where_they_differ_come_first(self, open_page, server):
        """The list is of differences, and a row leads to both episodes."""
        page = open_page(f"{server.url}#/compare")
        page.wait_for_selector("tbody .column-difference")
        found = [
            abs(float(text.replace("\N{MINUS SIGN}", "-"))) for text in cells(page, "difference")
        ]
        assert found == sorted(found, reverse=True)
        assert found[0] > 0
        page.click(".row-link >> nth=0")
        page.wait_for_selector(".sides")
        sides = page.locator(".side")
        assert sides.count() == 2
        seeds = [sides.nth(at).locator(".facts div", has_text="seed").inner_text() for at in (0, 1)]
        assert seeds[0] == seeds[1]
        page.go_back()
        page.wait_for_selector("tbody .column-difference")

    def test_runs_without_a_task_in_common_are_reported(self, open_page, tmp_path, runs):
        """The page says what makes tasks comparable."""
        with serving(runs[0], write_many(tmp_path / "run.jsonl", 3)) as server:
            page = open_page(f"{server.url}#/compare")
            assert "No shared tasks" in page.inner_text("main")


@pytest.mark.parametrize("mode", ["served", "one file"])
def test_the_output_of_models_is_never_executed(open_page, tmp_path, mode):
    """Hostile text in every field is shown as text, on every page."""
    runs = [tmp_path / "one", tmp_path / "two"]
    for run in runs:
        with TrajectoryFile(run / "trajectories.jsonl") as file:
            for first, text in zip(range(0, 99, 3), HOSTILE.values(), strict=False):
                file.append(odd_trajectory(text, index=first))
                file.append(odd_trajectory(text, index=first + 1, error=None, failures=[]))
                file.append(odd_dialogue(text, index=first + 2))
    with serving(*runs) as server:
        root = server.url if mode == "served" else write_page(tmp_path / "page.html", *runs)
        page = open_page(root)
        for place in ("", "episodes", "compare"):
            look_for_hostile(page, place, *HOSTILE.values())
        for first, text in zip(range(0, 99, 3), HOSTILE.values(), strict=False):
            look_for_hostile(page, f"episode/0-{first}", text)
            if mode == "served" or thorough():  # both draw an episode with the same scripts
                look_for_hostile(page, f"compare?left=0-{first}&right=1-{first}", text)
                look_for_hostile(page, f"episode/0-{first + 2}", text)
                look_for_hostile(page, f"episode/0-{first + 2}?show=turns", text)
                for colouring in ("logprob", "mask", "advantage"):
                    go_to(page, f"#/episode/0-{first + 1}?tokens={colouring}")
                    assert page.locator(".tokens .token").count() >= 2
            assert page.evaluate("window.hacked") is None, text
            assert page.evaluate("({}).hacked") is None, text


def look_for_hostile(page, place, *texts):
    """Require that a place shows texts and makes no elements of them."""
    go_to(page, f"#/{place}")
    page.evaluate("() => document.querySelectorAll('details').forEach(d => d.open = true)")
    page.wait_for_function(
        "() => [...document.querySelectorAll('details')].every(d => d.children.length > 1)"
    )
    page.mouse.move(300, 300)
    shown = page.locator("main").inner_text()
    assert all(text[:24] in shown or "attribute" in text for text in texts), shown
    assert page.locator("main script, main svg[onload], main [onerror]").count() == 0
    assert page.locator("main a[href^='javascript:'], main [onmouseover]").count() == 0
    assert page.locator("main img").count() == 0


@pytest.mark.parametrize("mode", ["served", "one file"])
def test_invisible_characters_are_shown_by_name(open_page, tmp_path, mode):
    """ANSI, right-to-left and zero-width characters do not act; an emoji stays one."""
    path = tmp_path / "run.jsonl"
    with TrajectoryFile(path) as file:
        file.append(odd_trajectory(UNSEEN + "\N{WOMAN}\u200d\N{GIRL}"))
    with serving(path) as server:
        page = open_page(server.url if mode == "served" else write_page(tmp_path / "a.html", path))
        for place in ("", "episodes", "episode/0-0"):
            go_to(page, f"#/{place}")
            content = page.locator("main").text_content() + page.title()
            attributes = page.evaluate(
                "[...document.querySelectorAll('main [title], main [aria-label]')]"
                ".map(one => one.title + one.ariaLabel).join()"
            )
            for character in "\x1b\u202e\u200b\u2066\ufeff\x07\u2028\U000e0041":
                assert character not in content + attributes
            for name in ("ESC", "202E", "200B", "2066", "FEFF", "0007", "2028", "E0041"):
                assert f"⟨{name}⟩" in content
            assert "\N{WOMAN}\u200d\N{GIRL}" in content
        assert (
            page.locator("main h1 .hidden-character").first.get_attribute("title") == "U+001B ESC"
        )


def test_one_file_loads_nothing_and_answers_as_the_server_does(open_page, server, runs, tmp_path):
    """The same tables, orders and comparisons, without a network."""
    url, asked = write_page(tmp_path / "page.html", *runs), []
    alone = open_page(url, offline=True)
    alone.on("request", lambda request: asked.append(request.url))
    served = open_page(server.url)
    assert server.shown.size == 120
    for place in (
        "#/",
        "#/episodes",
        "#/episodes?sort=return&desc=1",
        "#/episodes?sort=env&offset=50",
        "#/episodes?outcome=failed&sort=turns",
        "#/episodes?q=guess&series=1&low=0.5",
        "#/episodes?sort=tokens&desc=1&high=0.5",
        "#/episode/0-7?sort=turns&tokens=mask",
        "#/compare",
        "#/compare?a=1&b=0&env=game:Mastermind-v0-easy",
    ):
        for page in (alone, served):
            go_to(page, place)
        for _ in range(1000):  # charts are drawn later
            if alone.inner_text("main") == served.inner_text("main"):
                break
            served.wait_for_timeout(50)
        assert alone.inner_text("main") == served.inner_text("main"), place
    assert asked == []


def test_one_file_names_the_missing_episodes(open_page, runs, tmp_path):
    """The overview is of all episodes, the table of some."""
    target = tmp_path / "page.html"
    result = CliRunner().invoke(view, [*map(str, runs), "--html", str(target), "--most", "24"])
    assert result.exit_code == 0, result.output
    page = open_page(target.as_uri())
    assert page.locator(".card-value").first.inner_text() == "120"
    go_to(page, "#/episodes")
    assert "This file has 24 of 120 episodes" in page.inner_text("main")
    assert page.locator(".row-link").count() == 24
    go_to(page, "#/compare")
    assert page.locator("tbody tr").count() >= 2
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.parametrize("scheme", ["light", "dark"] if thorough() else ["light"])
def test_no_page_is_wider_than_a_phone(open_page, server, tmp_path, scheme):
    """Nothing makes the page scroll sideways at 360 pixels, long words neither."""
    path = tmp_path / "wide.jsonl"
    with TrajectoryFile(path) as file:
        file.append(odd_trajectory("w" * 400))
        file.append(odd_trajectory("w" * 400, index=1, agent="v" * 300))
    with serving(path) as wide:
        for root, first in ((server.url, "0-0"), (wide.url, "0-0")):
            page = open_page(root, size=PHONE, color_scheme=scheme)
            for place in ("", "episodes", f"episode/{first}?tokens=mask", "compare"):
                go_to(page, f"#/{place}")
                page.wait_for_timeout(50)
                width = page.evaluate("document.documentElement.scrollWidth")
                assert width <= PHONE["width"], place
        go_to(page, "#/compare?left=0-0&right=0-1")
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_light_and_dark_can_be_chosen(open_page, server):
    """The choice is kept."""
    page = open_page(server.url, color_scheme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.keyboard.press("t")
    dark = page.evaluate(ground)
    assert dark != light
    page.reload()
    page.wait_for_selector("main h1")
    assert page.evaluate(ground) == dark

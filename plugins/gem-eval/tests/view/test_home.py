"""A folder of runs: its list, its tags, and the pages of the runs that a link names."""

import json
import os

import pytest
from click.testing import CliRunner
from test_server import ask, post
from training_samples import training_run
from view_browser import chromium, serving, serving_home
from view_samples import write_many

from gem_core.errors import ConfigError
from gem_eval.episodes import EpisodeRecord
from gem_eval.metrics import metrics_of
from gem_eval.view.command import view
from gem_eval.view.home import Home
from gem_rollout import TrajectoryFile
from gem_rollout.records.runs import Run, write_json


def make_run(
    path, kind="eval", *, episodes=20, agents=("agent-0",), missing=0, created=0, **config
):
    """Write the folder of a run whose episodes nobody played."""
    envs = ["many:Env00", "many:Env01"]
    command = ["gem-core", *kind.split(), *envs, f"agent=[{','.join(agents)}]"]
    config = {"episodes": episodes // 2, **config}
    run = Run.create(path, command=command, config=config, envs=envs, agents=agents)
    write_json(path / "run.json", {**run.info(), "created": 1_790_000_000.0 + created})
    write_many(run.trajectories_path, episodes, envs=2)
    if kind == "eval":
        figures = metrics_of(map(EpisodeRecord.of, run.trajectories()))
        write_json(run.metrics_path, {**figures, "missing": missing, "left_out": {}})
    return run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with two evaluations, of which one is nested, a run and a training run."""
    folder = tmp_path_factory.mktemp("home") / "runs"
    make_run(folder / "base", created=1)
    make_run(folder / "sweep" / "0", agents=("agent-0", "agent-1"), created=2, missing=4)
    make_run(folder / "played", "run", created=3)
    training_run(folder / "trained")
    (folder / "notes").mkdir()
    return folder


def rows_in(folder):
    home = Home(folder)
    home.refresh()
    return {row["name"]: row for row in home.rows}


def test_every_run_below_a_folder_is_listed_with_its_figures(folder):
    """The evaluations of a training run belong to it."""
    rows = rows_in(folder)
    assert set(rows) == {"base", "sweep/0", "played", "trained"}
    assert {name: row["kind"] for name, row in rows.items()} == {
        "base": "eval",
        "sweep/0": "eval",
        "played": "run",
        "trained": "train",
    }
    base = rows["base"]
    assert base["command"] == "gem-core eval many:Env00 many:Env01 'agent=[agent-0]'"
    assert base["envs"] == ["many:Env00", "many:Env01"]
    assert base["created"] == 1_790_000_001.0
    metrics = json.loads((folder / "base" / "metrics.json").read_text())
    pooled = [row for row in metrics["rows"] if row["scope"] == "pooled"]
    for figures, row in zip(base["figures"], pooled, strict=True):
        assert figures["success"]["low"] == row["success"]["low"]
        assert figures["return"]["value"] == row["mean_return"]["value"]
        assert figures["errors"] == sum(row["errors"].values())
    assert base["episodes"] == sum(row["episodes"] for row in pooled) == 20
    assert rows["played"]["episodes"] == 20
    assert rows["trained"]["step"] == 20


def test_the_state_of_a_run_is_that_of_its_files(folder):
    """It is running while a process has its episodes open."""
    states = {name: row["state"] for name, row in rows_in(folder).items()}
    assert states == {
        "base": "finished",
        "sweep/0": "incomplete",
        "played": "finished",
        "trained": "incomplete",
    }
    with TrajectoryFile(folder / "base" / "trajectories.jsonl"):
        assert rows_in(folder)["base"]["state"] == "running"


def test_runs_that_begin_grow_and_go_are_seen(tmp_path):
    """The number of the version says that something has changed."""
    home, path = Home(tmp_path), tmp_path / "new"
    make_run(path, "run", episodes=10, created=1)
    home.refresh()
    version = home.version
    home.refresh()
    assert home.version == version
    more = write_many(tmp_path / "more", 4).read_bytes()
    with (path / "trajectories.jsonl").open("ab") as file:
        file.write(more)
    home.refresh()
    assert (home.version, home.rows[0]["episodes"]) == (version + 1, 14)
    path.rename(tmp_path / "other")
    home.refresh()
    assert [row["name"] for row in home.rows] == ["other"]


def test_a_run_whose_files_are_damaged_is_listed_with_the_reason(tmp_path):
    make_run(tmp_path / "bad", created=1)
    (tmp_path / "bad" / "metrics.json").write_text("{")
    (tmp_path / "bad" / "tags.json").write_text('"x"')
    row = rows_in(tmp_path)["bad"]
    assert "metrics.json" in row["problem"]
    assert "tags.json must hold a JSON list" in row["problem"]
    assert row["envs"] == ["many:Env00", "many:Env01"]


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("metrics.json", '{"rows": [{"agent": "a", "errors": {"env": null}}]}'),
        ("metrics.json", '{"rows": [{"agent": "a", "errors": {"env": "x"}}]}'),
        ("metrics.csv", "step,rollout/success\n1,high\n"),
        ("metrics.csv", f"{'x' * 200_000}\n1\n"),
    ],
)
def test_figures_that_are_no_numbers_leave_the_list_whole(tmp_path, file, content):
    make_run(tmp_path / "good", created=1)
    make_run(tmp_path / "odd", "run", created=2)
    (tmp_path / "odd" / file).write_text(content)
    assert set(rows_in(tmp_path)) == {"good", "odd"}


def test_a_pipe_or_folder_with_the_name_of_a_file_is_no_run(tmp_path):
    """A pipe is never opened: nobody may be writing to it."""
    make_run(tmp_path / "good", created=1)
    for name, make in (("pipe", os.mkfifo), ("folder", os.mkdir)):
        (tmp_path / name).mkdir()
        make(tmp_path / name / "trajectories.jsonl")
    assert set(rows_in(tmp_path)) == {"good"}


def test_a_resumed_run_that_was_killed_is_incomplete(tmp_path):
    """Its figures are those before it was resumed."""
    path = make_run(tmp_path / "a", created=1).path
    assert rows_in(tmp_path)["a"]["state"] == "finished"
    more = write_many(tmp_path / "more", 4).read_bytes()
    with (path / "trajectories.jsonl").open("ab") as file:
        file.write(more)
    row = rows_in(tmp_path)["a"]
    assert (row["state"], row["episodes"], row["missing"]) == ("incomplete", 24, None)


def test_a_folder_that_links_to_itself_is_searched_once(tmp_path):
    make_run(tmp_path / "a", created=1)
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    assert list(rows_in(tmp_path)) == ["a"]


class TestServer:
    """What the server says about a folder, and what it changes."""

    @pytest.fixture
    def home(self, tmp_path):
        """Serve a folder with two runs."""
        make_run(tmp_path / "a b", created=1)
        make_run(tmp_path / "c", created=2, episodes=10)
        with serving_home(tmp_path) as server:
            yield server

    def test_a_link_names_one_run_or_several(self, home):
        for names, size in (("run=a+b", 20), ("run=c", 10), ("run=c&run=a+b", 30)):
            assert json.loads(ask(home, f"/api/size?{names}")[1])["episodes"] == size
        _, body = ask(home, "/api/episode?run=c&id=0-3")
        assert json.loads(body)["row"]["id"] == "0-3"

    def test_more_runs_than_stay_open_can_be_looked_at(self, home, tmp_path):
        """In turn, again and again."""
        for number in range(6):
            make_run(tmp_path / f"r{number}", episodes=2, created=3)
        for _ in range(2):
            for number in range(6):
                _, body = ask(home, f"/api/overview?run=r{number}")
                assert json.loads(body)["totals"]["episodes"] == 2

    @pytest.mark.parametrize(
        ("path", "problem"),
        [
            ("/api/overview?run=nothing", "There is no run 'nothing' in "),
            ("/api/overview?run=../c", "There is no run '../c' in "),
            ("/api/episode?run=c&id=0-99", "There is no episode '0-99'."),
            ("/api/episode?id=0-1", "The link names no run: choose one of the 2 in "),
        ],
    )
    def test_a_link_that_leads_nowhere_says_what_is_missing(self, home, path, problem):
        answer, body = ask(home, path)
        assert answer.status == 400
        assert problem in json.loads(body)["error"]

    def test_a_link_to_a_run_of_a_folder_needs_the_folder(self, tmp_path):
        with serving(make_run(tmp_path / "a").path) as server:
            _, body = ask(server, "/api/size?run=a")
            assert "gem-core view FOLDER" in json.loads(body)["error"]
            assert post(server, {"run": "a", "add": ["x"]})[0].status == 404

    def test_tags_are_added_and_removed_and_commands_read_them(self, home, tmp_path):
        """They are in a small file of the run."""
        assert post(home, {"run": "a b", "add": ["baseline", " to keep "]})[0].status == 200
        assert Run(tmp_path / "a b").tags() == ["baseline", "to keep"]
        assert rows_in(tmp_path)["a b"]["tags"] == ["baseline", "to keep"]
        _, body = post(home, {"run": "a b", "remove": ["baseline"], "add": ["to keep"]})
        assert json.loads(body) == {"tags": ["to keep"]}

    @pytest.mark.parametrize(
        ("given", "problem"),
        [
            ({"run": "a b", "add": [""]}, "A tag has 1 to 40 printable characters"),
            ({"run": "a b", "add": ["x\ny"]}, "A tag has 1 to 40 printable characters"),
            ({"run": "a b", "add": "x"}, "must be lists of texts"),
            ({"run": "a b", "add": [f"{n}" for n in range(21)]}, "20 are allowed"),
            ({"run": "../x", "add": ["x"]}, "There is no run '../x'"),
            (["x"], "must be a JSON object"),
        ],
    )
    def test_a_tag_that_cannot_be_used_is_refused(self, home, tmp_path, given, problem):
        answer, body = post(home, given)
        assert answer.status == 400
        assert problem in json.loads(body)["error"]
        assert not (tmp_path / "a b" / "tags.json").exists()

    def test_tags_that_cannot_be_written_are_reported(self, home, tmp_path):
        (tmp_path / "c" / "tags.json").mkdir()  # as in a folder that only others may write
        answer, body = post(home, {"run": "c", "add": ["x"]})
        assert answer.status == 400
        assert "cannot be written: Is a directory." in json.loads(body)["error"]

    def test_only_the_page_itself_can_change_tags(self, home, tmp_path):
        given = {"run": "c", "add": ["x"]}
        for headers in (
            {"Origin": "http://evil.example"},
            {"Origin": "null"},
            {"Host": "evil.example"},
            {"Content-Type": "text/plain"},
            {"Content-Length": "99999"},
        ):
            assert post(home, given, **headers)[0].status in {403, 413, 415}
        assert Run(tmp_path / "c").tags() == []
        assert post(home, given, Origin=home.url.rstrip("/"))[0].status == 200


def test_the_command_needs_runs(tmp_path, monkeypatch):
    """Without an argument they are those below the folder runs."""
    monkeypatch.chdir(tmp_path)
    for arguments, problem in (
        ([], "There is no folder runs here"),
        (["."], "is not a run"),
    ):
        result = CliRunner().invoke(view, arguments)
        assert isinstance(result.exception, ConfigError)
        assert problem in str(result.exception)
    make_run(tmp_path / "runs" / "a")
    result = CliRunner().invoke(view, ["--html", "x.html"])
    assert "runs is a folder of runs: --html needs the runs to write" in str(result.exception)


@pytest.fixture(scope="module")
def browser(folder):
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def server(folder):
    with serving_home(folder) as server:
        yield server


def names(page):
    return page.locator("tbody .row-link").all_inner_texts()


@pytest.mark.slow
def test_the_list_is_filtered_and_sorted_and_the_url_says_how(open_page, server):
    """The newest run comes first."""
    page = open_page(server.url)
    page.wait_for_selector("table.runs")
    assert names(page) == ["trained", "played", "sweep/0", "base"]
    page.click("th >> text=run")
    page.wait_for_function("() => location.hash.includes('sort=name')")
    page.wait_for_selector("th.column-name[aria-sort=ascending]")
    assert names(page) == ["base", "played", "sweep/0", "trained"]
    page.select_option("select[name=kind]", "eval")
    page.wait_for_function("() => document.querySelectorAll('tbody tr').length === 2")
    page.fill("#search", "AGENT-1 sweep")
    page.press("#search", "Enter")
    page.wait_for_function("() => document.querySelectorAll('tbody tr').length === 1")
    other = open_page(page.url)
    assert names(other) == ["sweep/0"]
    row = other.locator("tbody tr").inner_text()
    assert "incomplete" in row
    assert "4 missing" in row
    page.go_back()
    page.wait_for_function("() => document.querySelectorAll('tbody tr').length === 2")


@pytest.mark.slow
def test_two_runs_are_chosen_and_compared(open_page, server, folder):
    """With the command to copy, or in the viewer; the choice survives a filter."""
    page = open_page(server.url)
    page.check("[aria-label='Choose base']")
    page.select_option("select[name=kind]", "eval")
    page.wait_for_function("() => document.querySelectorAll('tbody tr').length === 2")
    assert page.is_checked("[aria-label='Choose base']")
    page.check("[aria-label='Choose sweep/0']")
    command = page.inner_text(".run-choice pre")
    assert command == f"gem-core compare {folder / 'base'} {folder / 'sweep/0'}"
    page.click("text=Compare task by task")
    page.wait_for_selector("text=Shared tasks")
    page.keyboard.press("r")
    page.wait_for_selector("table.runs")


@pytest.mark.slow
def test_a_run_is_opened_and_the_way_back_is_that_of_the_browser(open_page, server):
    """All its pages keep the run in the URL; that of a training run begins with its curves."""
    page = open_page(server.url)
    page.click(".row-link >> text=base")
    page.wait_for_selector(".card-value")
    page.keyboard.press("e")
    page.wait_for_selector("table.episodes")
    page.click(".row-link >> nth=2")
    page.wait_for_selector("#turn-1")
    assert page.url == f"{server.url}?run=base#/episode/0-2"
    assert "base" in page.title()
    for wanted in ("table.episodes", ".card-value", "table.runs"):
        page.go_back()
        page.wait_for_selector(wanted)
    page.click(".row-link >> text=trained")
    page.wait_for_selector(".curves")


@pytest.mark.slow
def test_tags_are_edited_in_the_list(open_page, server, folder):
    """With the keyboard; a tag leads to the runs that have it."""
    page = open_page(server.url)
    page.focus("[aria-label='Add a tag to base']")
    page.keyboard.press("Enter")
    page.keyboard.type("good <b>one</b>")
    page.keyboard.press("Enter")
    page.wait_for_selector(".tag >> text=good <b>one</b>")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Add a tag to base"
    assert Run(folder / "base").tags() == ["good <b>one</b>"]
    page.click(".tag a")
    page.wait_for_function("() => document.querySelectorAll('tbody tr').length === 1")
    assert names(page) == ["base"]
    page.click("[aria-label^='Remove the tag']")
    page.wait_for_function("() => document.querySelectorAll('.tag').length === 0")
    assert Run(folder / "base").tags() == []


@pytest.mark.slow
def test_a_new_run_appears_by_itself(open_page, tmp_path, monkeypatch):
    monkeypatch.setattr("gem_eval.view.answers._REFRESH_SECONDS", 0.05)
    make_run(tmp_path / "a")
    with serving_home(tmp_path) as server:
        page = open_page(server.url)
        page.wait_for_selector("table.runs")
        make_run(tmp_path / "b")
        page.wait_for_selector(".row-link >> text=b")

"""The index beside a run, and what can be asked of it."""

import json
import shutil
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough
from view_samples import odd_trajectory, write_many

from gem_core.errors import ConfigError
from gem_eval.statistics import mean_estimate, proportion_estimate
from gem_eval.view.overview import overview
from gem_eval.view.query import EpisodeQuery
from gem_eval.view.store import Store
from gem_rollout import TrajectoryFile


@pytest.fixture
def run(tmp_path):
    (tmp_path / "run").mkdir()
    write_many(tmp_path / "run" / "trajectories.jsonl", 300)
    return tmp_path / "run"


def open_store(*paths):
    store = Store(paths)
    store.refresh()
    return store


def all_rows(store, **query):
    rows, offset = [], 0
    while page := store.page(EpisodeQuery(offset=offset, limit=97, **query))["rows"]:
        rows += page
        offset += len(page)
    return rows


@pytest.mark.slow
def test_an_index_is_read_again_without_reading_the_run(run, monkeypatch):
    """A second viewer takes the parts that the first one wrote."""
    open_store(run).close()
    monkeypatch.setattr("gem_eval.view.index.episode_row", None)
    with open_store(run) as store:
        assert store.size == 300
    assert (run / ".view").is_dir()


@pytest.mark.slow
def test_a_run_that_grows_is_followed(run):
    """New lines come in at a refresh, and small parts are merged."""
    with open_store(run) as store, TrajectoryFile(run / "trajectories.jsonl") as file:
        for index in range(5):
            file.append(odd_trajectory("more", index=1000 + index, env_id="more:Env"))
            assert store.refresh()
            assert not store.refresh()
        assert store.size == 305
        assert len(store.runs[0].parts) == 1
        rows = all_rows(store, env="more:Env")
        assert [row["number"] for row in rows] == [300, 301, 302, 303, 304]
        assert store.episode(rows[-1]["id"])["episode"]["index"] == 1004


@pytest.mark.slow
def test_an_incomplete_line_is_read_when_it_is_complete(run):
    """An episode appears when its line has ended."""
    path = run / "trajectories.jsonl"
    whole = path.read_bytes()
    cut = whole[: whole.rindex(b"\n", 0, -1) + 40]
    path.write_bytes(cut)
    with open_store(run) as store:
        assert store.size == 299
        path.write_bytes(whole)
        store.refresh()
        assert store.size == 300


@pytest.mark.slow
def test_a_run_that_was_replaced_is_read_anew(run):
    """Parts that do not fit the file are not used."""
    open_store(run).close()
    write_many(run / "trajectories.jsonl", 300, seed=1, envs=3)
    with open_store(run) as store:
        assert store.size == 300
        assert len(overview(store)["envs"]) == 3


@pytest.mark.slow
def test_places_and_numbers_go_on_from_part_to_part(run, monkeypatch):
    monkeypatch.setattr("gem_eval.view.index._PART_ROWS", 64)
    with open_store(run) as store:
        assert len(store.runs[0].parts) == 5
        rows = all_rows(store)
        assert [row["number"] for row in rows] == list(range(300))
        assert store.episode("0-299")["episode"]["index"] == 299


@pytest.mark.slow
def test_two_viewers_can_follow_a_run_that_grows(run):
    """One replaces a part that the other still uses; both go on."""
    with open_store(run) as one, open_store(run) as other:
        with TrajectoryFile(run / "trajectories.jsonl") as file:
            file.append(odd_trajectory("more"))
        one.refresh()
        with TrajectoryFile(run / "trajectories.jsonl") as file:
            file.append(odd_trajectory("more"))
        one.refresh()
        assert len(all_rows(other)) == 302
        assert len(all_rows(one)) == 302


@pytest.mark.slow
def test_questions_of_many_threads_are_answered_while_the_run_grows(run):
    """Each is answered, with what the run had at one moment."""
    more = (run / "trajectories.jsonl").read_bytes()
    with open_store(run) as store, ThreadPoolExecutor(8) as threads:
        answers = []
        for _ in range(3):
            with (run / "trajectories.jsonl").open("ab") as file:
                file.write(more)
            asked = [threads.submit(store.page, EpisodeQuery(text="turn 1")) for _ in range(8)]
            store.refresh()
            answers += [one.result()["total"] for one in asked]
        assert set(answers) <= {300, 600, 900, 1200}
        assert store.page(EpisodeQuery())["total"] == 1200


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_is_left_alone(run, monkeypatch, tmp_path):
    """The index is then kept in a temporary folder, which goes at the end."""
    # Root may write anywhere, so the place of the index is taken by a file.
    (run / ".view").write_text("in the way")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    with open_store(run) as store:
        assert store.size == 300
        assert list(scratch.iterdir())
    assert not list(scratch.iterdir())
    assert (run / ".view").read_text() == "in the way"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["env=a,[b,c]*?", "it's", "a b ü", "{x}", "--flag"])
def test_a_folder_of_a_run_may_have_any_name(tmp_path, name):
    """Wildcards of DuckDB and SQL in a path are taken literally."""
    folder = tmp_path / name
    folder.mkdir()
    write_many(folder / "trajectories.jsonl", 3)
    decoy = tmp_path / "env=a,bxx"
    decoy.mkdir(exist_ok=True)
    with open_store(folder) as store:
        assert [row["number"] for row in all_rows(store)] == [0, 1, 2]


@pytest.mark.slow
@pytest.mark.parametrize("line", ["[]\n", "{}\n", "no\n", '{"turns": 3}\n', "\xff\n"])
def test_a_line_that_is_not_a_trajectory_is_named(tmp_path, line):
    """The message has the file and the place."""
    path = tmp_path / "a.jsonl"
    write_many(path, 2)
    place = path.stat().st_size
    path.write_bytes(path.read_bytes() + line.encode("latin-1"))
    with pytest.raises(ConfigError, match=f"byte {place}, is not a trajectory"):
        open_store(path)


def test_a_run_that_does_not_exist_is_reported(tmp_path):
    """The message says where it was looked for."""
    with pytest.raises(ConfigError, match="no run"):
        Store([tmp_path / "nowhere"])


@pytest.mark.slow
def test_an_empty_run_has_no_episodes(tmp_path):
    """Every question has an answer before the first episode has ended."""
    (tmp_path / "trajectories.jsonl").touch()
    with open_store(tmp_path) as store:
        assert store.page(EpisodeQuery()) == {"total": 0, "rows": []}
        assert overview(store)["totals"] is None
        assert list(store.sample(5)) == []


@pytest.mark.slow
def test_runs_of_the_same_name_get_different_labels(tmp_path):
    """Series are agents of runs, and their names differ."""
    for parent in "ab":
        (tmp_path / parent / "run").mkdir(parents=True)
        write_many(tmp_path / parent / "run" / "trajectories.jsonl", 80)
    with open_store(tmp_path / "a" / "run", tmp_path / "b" / "run") as store:
        labels = [one["label"] for one in store.series]
        assert len(labels) == len(set(labels)) == 4
        assert store.page(EpisodeQuery(series=3))["total"] == 40


def test_the_curve_over_time_does_not_follow_the_order_of_environments(tmp_path):
    """An easy environment is played before a hard one; nothing changes within each of them."""
    path = tmp_path / "run.jsonl"
    with TrajectoryFile(path) as file:
        for index in range(200):
            env_id, won = ("a:Easy", index % 4 > 0) if index < 100 else ("a:Hard", index % 4 == 0)
            file.append(odd_trajectory(env_id=env_id, index=index, error=None, success=won))
    with open_store(path) as store:
        points = overview(store)["curve"]
        assert [point["place"] for point in points] == [(at + 0.5) / 8 for at in range(8)]
        assert all(0.4 <= point["success"] <= 0.6 for point in points)


@pytest.mark.slow
def test_old_files_have_a_task_for_each_episode(tmp_path):
    """Files from before there were groups are read, and their episodes count as independent."""
    path = tmp_path / "old.jsonl"
    write_many(path, 4)
    episodes = [json.loads(line) for line in path.read_text().splitlines()]
    for episode in episodes:
        for name in ("group", "sample", "attempts", "failures", "started_at"):
            del episode[name]
    path.write_text("".join(json.dumps(episode) + "\n" for episode in episodes))
    with open_store(path) as store:
        assert overview(store)["totals"]["tasks"] == 4


@pytest.mark.slow
def test_figures_that_are_not_numbers_are_left_out(tmp_path):
    """A return that is not finite is none, seeds keep all digits, lone surrogates do no harm."""
    path = tmp_path / "odd.jsonl"
    turn = {"agent": "a", "observation": "\ud800", "action": "\x00", "reward": float("nan")}
    turn |= {"terminated": True, "truncated": False, "info": {}}
    seed = 2**64 + 1
    path.write_text(
        json.dumps({"env_id": "\ud800", "agent": "\0", "index": 0, "seed": seed, "turns": [turn]})
        + "\n"
    )
    with open_store(path) as store:
        (row,) = store.page(EpisodeQuery())["rows"]
        assert (row["return"], row["seed"], row["outcome"]) == (None, str(seed), "unscored")
        assert overview(store)["returns"] is None


COUNT = 50_000 if thorough() else 9_000
"""Episodes of a large run; a part of the index has up to 4,096."""


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    path = write_many(tmp_path_factory.mktemp("many") / "many.jsonl", COUNT, turns=1)
    with open_store(path) as store:
        yield store
    shutil.rmtree(path.parent)


@pytest.mark.slow
class TestALargeRun:
    def test_pages_from_anywhere_are_in_order(self, large):
        for offset in (0, COUNT // 2, COUNT - 40):
            page = large.page(EpisodeQuery(sort="seconds", descending=True, offset=offset))
            seconds = [row["seconds"] for row in page["rows"]]
            assert page["total"] == COUNT
            assert len(seconds) == min(50, COUNT - offset)
            assert seconds == sorted(seconds, reverse=True)

    def test_filters_find_exactly_the_matching_episodes(self, large):
        """All filters together, and a text that one episode has."""
        one = COUNT * 2 // 3
        rows = large.page(EpisodeQuery(text=f"TURN 0 of {one}:", limit=5))["rows"]
        assert [row["index"] for row in rows] == [one]
        errors = large.page(EpisodeQuery(outcome="error", env="many:Env07"))["total"]
        expected = sum(i % 50 == 7 and i % 20 == 7 for i in range(COUNT))
        assert errors == expected > 0

    def test_the_parts_of_the_index_stay_few_and_an_episode_has_its_neighbours(self, large):
        assert len(large.runs[0].parts) == -(-COUNT // 4096)
        middle = COUNT // 2
        found = large.neighbours(f"0-{middle}", EpisodeQuery(sort="number"))
        failed = large.rows(
            "SELECT max(number) FILTER (number < ?) AS previous, "
            "min(number) FILTER (number > ?) AS next "
            "FROM episodes WHERE outcome IN ('failed', 'error')",
            [middle, middle],
        )[0]
        assert found == {
            "previous_failed": f"0-{failed['previous']}",
            "next_failed": f"0-{failed['next']}",
            "previous": f"0-{middle - 1}",
            "next": f"0-{middle + 1}",
            "place": middle + 1,
            "total": COUNT,
        }

    def test_a_sample_has_all_environments_and_early_and_late_tasks(self, large):
        rows = {row["id"]: row for row in large.rows("SELECT id, env_id, number FROM episodes")}
        chosen = [rows[one] for one in large.sample(100)]
        assert len(chosen) == 100
        assert len({row["env_id"] for row in chosen}) == 20
        assert max(row["number"] for row in chosen) > 0.8 * COUNT


SOME = settings(max_examples=25 if thorough() else 8)
episodes = st.lists(
    st.tuples(
        st.sampled_from(["a:A", "b:B"]),
        st.sampled_from(["x", "y"]),
        st.integers(0, 4),
        st.sampled_from([0.0, 0.25, 1.0]),
        st.sampled_from([True, False, None]),
    ),
    min_size=1,
    max_size=30,
)


def write(path, drawn):
    with TrajectoryFile(path) as file:
        for index, (env_id, agent, group, reward, success) in enumerate(drawn):
            trajectory = odd_trajectory("t", env_id=env_id, agent=agent, index=index, error=None)
            trajectory.group, trajectory.success = group, success
            trajectory.turns[0].reward = reward
            file.append(trajectory)


@pytest.mark.slow
@SOME
@given(drawn=episodes)
def test_the_overview_agrees_with_the_statistics(drawn, tmp_path_factory):
    """The intervals, which are made of sums, are those of ``gem-core eval``."""
    path = tmp_path_factory.mktemp("drawn") / "run.jsonl"
    write(path, drawn)
    with open_store(path) as store:
        found = overview(store, "a:A")
        for figures in found["by_series"]:
            agent = store.series[figures["series"]]["agent"]
            mine = [one for one in drawn if one[:2] == ("a:A", agent)]
            tasks = [[one for one in mine if one[2] == group] for group in range(5)]
            returns = [[one[3] for one in task] for task in tasks if task]
            expected = mean_estimate(returns)
            ours = figures["return"]
            assert ours["mean"] == pytest.approx(expected.value)
            assert ours["low"] == pytest.approx(expected.low, abs=1e-9)
            scored = [[one[4] for one in task if one[4] is not None] for task in tasks]
            scored = [[float(value) for value in task] for task in scored if task]
            if not scored:
                assert figures["success"] is None
                continue
            estimate = proportion_estimate(scored)
            if estimate.low is None:
                continue
            assert figures["success"]["mean"] == pytest.approx(estimate.value)
            assert figures["success"]["low"] == pytest.approx(estimate.low, abs=1e-9)
            assert figures["success"]["high"] == pytest.approx(estimate.high, abs=1e-9)


@pytest.mark.slow
@SOME
@given(
    drawn=episodes,
    sort=st.sampled_from(["return", "env", "number", "turns"]),
    descending=st.booleans(),
    low=st.sampled_from([None, 0.25]),
    outcome=st.sampled_from(["", "success", "unscored"]),
)
def test_pages_have_the_rows_that_a_loop_over_the_episodes_finds(
    drawn, sort, descending, low, outcome, tmp_path_factory
):
    path = tmp_path_factory.mktemp("drawn") / "run.jsonl"
    write(path, drawn)
    names = {True: "success", False: "failed", None: "unscored"}
    keys = {
        "return": lambda i: drawn[i][3],
        "env": lambda i: drawn[i][0],
        "number": lambda i: i,
        "turns": lambda _: 1,
    }
    fitting = [
        i
        for i, one in enumerate(drawn)
        if (low is None or one[3] >= low) and outcome in {"", names[one[4]]}
    ]
    expected = sorted(fitting, key=lambda i: (keys[sort](i), i), reverse=descending)
    with open_store(path) as store:
        rows = all_rows(store, sort=sort, descending=descending, low=low, outcome=outcome)
    assert [row["number"] for row in rows] == expected


@pytest.mark.slow
def test_tasks_with_the_largest_difference_between_two_sides_come_first(tmp_path):
    """Tasks of both sides, the largest difference first."""
    for name, rewards in (("one", [0, 1, 0.5, 0]), ("two", [1, 1, 0, 0])):
        (tmp_path / name).mkdir()
        write(
            tmp_path / name / "trajectories.jsonl",
            [("a:A", "x", group, float(reward), None) for group, reward in enumerate(rewards)],
        )
    with open_store(tmp_path / "one", tmp_path / "two") as store:
        found = store.tasks(0, 1)
        assert (found["total"], found["a_better"], found["b_better"]) == (4, 1, 1)
        assert [(row["group"], row["difference"]) for row in found["rows"]] == [
            (0, 1.0),
            (2, -0.5),
            (1, 0.0),
            (3, 0.0),
        ]
        assert found["rows"][0]["id_a"] == "0-0"
        assert found["rows"][0]["id_b"] == "1-0"


@pytest.mark.slow
def test_the_run_itself_is_only_read(run):
    """Looking at a run does not touch its file."""
    path = run / "trajectories.jsonl"
    path.chmod(stat.S_IRUSR)
    before = (path.read_bytes(), path.stat().st_mtime_ns)
    open_store(run).close()
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert sorted(item.name for item in Path(run).iterdir()) == [".view", "trajectories.jsonl"]

"""What a viewer and a replay hold: closes, forks and exits."""

import threading
from types import SimpleNamespace

import pytest
from forks import in_fork

from gem_core.errors import ClosedError, ForkError
from gem_eval import replay as replays
from gem_eval.view.store import Store
from gem_eval.view.tables import temporary_folder

SECONDS = 30


@pytest.fixture
def run(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "trajectories.jsonl").touch()
    return tmp_path / "run"


def test_a_store_belongs_to_its_process_and_stays_closed(run):
    store = Store([run])

    def use():
        with pytest.raises(ForkError):
            store.rows("SELECT 1 AS n")
        with pytest.raises(ForkError):
            store.refresh()
        store.close()

    assert in_fork(use) == "None"
    assert store.rows("SELECT 1 AS n") == [{"n": 1}]
    store.close()
    store.close()
    for ask in (lambda: store.rows("SELECT 1 AS n"), store.refresh):
        with pytest.raises(ClosedError):
            ask()


def test_an_index_in_a_temporary_folder_is_not_removed_by_a_fork(run, monkeypatch):
    (run / ".view").touch()  # so that the index cannot be beside the run
    store = Store([run])
    folder = store.runs[0]._folder
    assert in_fork(store.close) == "None"
    assert folder.is_dir()
    store.close()
    assert not folder.exists()


def test_a_folder_that_is_in_use_is_not_removed_by_a_fork(tmp_path):
    with temporary_folder(tmp_path) as folder:
        assert in_fork(lambda: None) == "None"
        assert folder.is_dir()
    assert not folder.exists()


class Hanging:
    """An environment whose steps end when it is closed."""

    def __init__(self):
        self.closed = threading.Event()

    def close(self):
        self.closed.set()


@pytest.mark.slow
def test_an_interrupted_replay_closes_its_environments_and_plays_no_more(monkeypatch):
    envs, played, begun = [], [], threading.Event()

    def play(env, _agent, *_, **__):
        played.append(env)
        begun.set()
        env.closed.wait(SECONDS)
        raise ClosedError("closed during use")

    def make():
        envs.append(Hanging())
        return envs[-1]

    def trajectories():
        yield from [old] * 3
        begun.wait(SECONDS)
        raise KeyboardInterrupt

    monkeypatch.setattr(replays, "play_episode", play)
    monkeypatch.setattr(replays, "_END_SECONDS", 0.2)
    names = ("seed", "group", "agent", "reset_options")
    old = SimpleNamespace(env_name="game", turns=[], **dict.fromkeys(names))
    with pytest.raises(KeyboardInterrupt):
        list(replays.replay(trajectories(), {"game": make}, concurrency=1))
    assert [env.closed.is_set() for env in envs] == [True]
    assert len(played) == 1

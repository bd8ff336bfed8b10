"""Datasets of the hub: the real ``load_dataset``, against a hub on loopback."""

import gzip
import json
import os
import shutil
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gem_core import make_vec
from gem_core.errors import DataError, HubError
from gem_tasks.golds import GoldWarning
from gem_tasks.rows import forget_rows

NAME = "acme/Sums-2k"
pytestmark = pytest.mark.slow


@pytest.fixture
def hub(fake_hub, sums):
    fake_hub.add(NAME, {"train": sums(50)})
    fake_hub.add("acme/two", {"train": sums(5), "test": sums(3)})
    return fake_hub


@pytest.fixture
def short_pauses(hub, monkeypatch):
    """Shorten the seconds that ``huggingface_hub`` waits between its attempts."""
    short = SimpleNamespace(**{**vars(time), "sleep": lambda seconds: time.sleep(seconds / 99)})
    for module in ("file_download", "utils._http"):
        monkeypatch.setattr(f"huggingface_hub.{module}.time", short)


def downloads(hub):
    return [request for request in hub.requests if request.startswith("GET /datasets")]


class TestLoading:
    def test_a_dataset_is_downloaded_once_and_played(self, make_sums, hub):
        env = make_sums(dataset_name=NAME)
        question, _ = env.reset(idx=21)
        assert question == "21 + 21?"
        assert env.step("42").reward == 1.0
        forget_rows()
        assert len(make_sums(dataset_name=NAME).rows) == 50
        assert len(downloads(hub)) == 1

    def test_the_version_of_the_data_is_the_commit(self, make_sums, hub):
        """It is known of every format, of streams, and without a network."""
        hub.add_files("acme/text", {"train.jsonl": b'{"problem": "?", "answer": "1"}\n'})
        for streaming in (True, False, None):
            if streaming is None:
                hub.close()
            forget_rows()
            for name in (NAME, "acme/text"):
                env = make_sums(dataset_name=name, streaming=bool(streaming))
                commit = hub.commit(name)
                assert env.reset()[1]["data_version"] == commit, (name, streaming)

    def test_a_split_is_chosen_or_the_only_one(self, make_sums, hub):
        assert len(make_sums(dataset_name="acme/two", split="test").rows) == 3
        with pytest.raises(
            DataError, match=r"'acme/two' on the hub has several splits.* 'train', 'test'"
        ):
            make_sums(dataset_name="acme/two")

    def test_a_missing_split_lists_those_that_exist(self, make_sums, hub):
        with pytest.raises(DataError, match=r"no split 'validation' .* It has: 'train', 'test'"):
            make_sums(dataset_name="acme/two", split="validation")

    def test_a_revision_of_a_dataset_may_be_named(self, make_sums, hub, sums):
        assert len(make_sums(dataset_name=f"{NAME}@main").rows) == 50

    def test_a_dataset_with_several_configs_wants_one_named(self, make_sums, hub, sums):
        hub.add("acme/many:main", {"train": sums(7)})
        hub.add("acme/many:hard", {"train": sums(4), "test": sums(2)})
        with pytest.raises(DataError, match=r"'main', 'hard'\] Choose one with 'org/name:config'"):
            make_sums(dataset_name="acme/many")
        with pytest.raises(DataError, match=r"cannot be read: BuilderConfig 'no' not found"):
            make_sums(dataset_name="acme/many:no")
        for take_away_the_network in (forget_rows, hub.close):
            assert len(make_sums(dataset_name="acme/many:main").rows) == 7
            assert len(make_sums(dataset_name="acme/many:hard", split="test").rows) == 2
            take_away_the_network()
            forget_rows()
        with pytest.raises(HubError, match=r"not in the cache under this name \(.*main, hard"):
            make_sums(dataset_name="acme/many")

    def test_a_new_version_is_seen_after_forgetting(self, make_sums, hub, sums):
        make_sums(dataset_name=NAME)
        hub.add(NAME, {"train": sums(60)})
        forget_rows()
        assert len(make_sums(dataset_name=NAME).rows) == 60

    def test_wrong_columns_say_which_exist(self, make_sums, hub):
        with pytest.raises(DataError, match=r"'question' in 'acme/Sums-2k' on the hub.* problem"):
            make_sums(dataset_name=NAME, columns={"question": str})

    def test_threads_that_construct_at_the_same_time_download_once(self, make_sums, hub):
        with ThreadPoolExecutor(64) as pool:
            envs = list(pool.map(lambda _: make_sums(dataset_name=NAME), range(64)))
        assert len({id(env.rows) for env in envs}) == 1
        assert len(downloads(hub)) == 1

    def test_worker_processes_find_the_same_tasks(self, spec_of, hub):
        def play(executor):
            spec = spec_of(dataset_name=NAME)
            with make_vec(spec, num_envs=1, seed=3, executor=executor) as vector:
                questions = list(vector.reset()[0])
                for _ in range(5):
                    questions += list(vector.step(["0"])[0])
            return questions

        assert play("processes") == play("serial")


VALUES = [[[3], [2.5]], {"a": 1}, "025", "2020-01-01", [True, 0, None], 10**30]
TEXT = "".join(
    json.dumps({"problem": "?", "answer": "007", "tests": value}) + "\n" for value in VALUES
).encode()


class TestJsonAndCsv:
    """Values arrive as they are written, and not as ``datasets`` converts them."""

    @pytest.fixture
    def rows(self, make_sums):
        def read(name, **options):
            columns = {"problem": str, "answer": str, "tests": Any}
            env = make_sums(dataset_name=name, columns=columns, shuffle=False, **options)
            return repr([(env.reset(), env.row["answer"], env.row["tests"])[1:] for _ in VALUES])

        return read

    def test_json_is_read_as_written_also_from_the_cache(self, rows, hub):
        expected = repr([("007", value) for value in VALUES])
        hub.add_files("acme/a", {"train.jsonl": TEXT, "test.jsonl": TEXT})
        hub.add_files("acme/b", {f"train-{n}.jsonl.gz": gzip.compress(TEXT) for n in range(2)})
        changes = (hub.heal, lambda: hub.break_("acme/a", "gated"), hub.close)
        for change in changes:
            change()
            forget_rows()
            assert rows("acme/a", split="test") == rows("acme/b") == expected
            if change is not changes[1]:
                assert rows("acme/a", split="test", streaming=True) == expected

    def test_cells_of_csv_are_texts(self, rows, hub):
        hub.add_files("acme/c", {"data.csv": b"problem,answer,tests\n" + b"?,007,NA\n" * 6})
        assert rows("acme/c") == repr([("007", "NA")] * 6)

    def test_a_config_that_says_how_to_read_its_files_is_read_by_datasets(self, rows, hub):
        config = {"config_name": "a", "data_files": "a.csv", "sep": ";"}
        readme = f"---\nconfigs: {json.dumps([config])}\n---\n".encode()
        hub.add_files("acme/d", {"README.md": readme, "a.csv": b"problem;answer;tests\n?;x;y\n"})
        assert rows("acme/d") == repr([("x", "y")] * 6)

    def test_an_empty_answer_is_a_warning_because_others_cannot_mend_it(self, make_sums, hub):
        hub.add_files("acme/e", {"train.jsonl": b'{"problem": "?", "answer": ""}\n' * 2})
        for streaming in (False, True):
            with pytest.warns(GoldWarning, match=r"Row 0 .*: the gold answer is empty"):
                make_sums(dataset_name="acme/e", streaming=streaming)

    @pytest.mark.usefixtures("short_pauses")
    def test_a_lost_connection_of_a_stream_is_an_error_of_the_hub(self, rows, hub):
        hub.add_files("acme/a", {"train.jsonl": TEXT})
        hub.break_("acme/a", "drop")
        with pytest.raises(HubError, match=r"acme/a.* could not be read beyond row 0"):
            rows("acme/a", streaming=True)

    def test_what_datasets_has_converted_before_is_read_with_a_warning(self, rows, hub, datasets):
        line = b'{"problem": "?", "answer": "007", "tests": [1, 2.5]}\n'
        hub.add_files("acme/old", {"train.jsonl": line * 6})
        datasets.load_dataset("acme/old")
        hub.close()
        with pytest.warns(UserWarning, match="'datasets' has converted it from json"):
            assert rows("acme/old") == repr([("007", [1.0, 2.5])] * 6)


class TestALocalFolderOfTheSameName:
    def test_a_local_folder_does_not_shadow_the_hub(self, make_sums, hub, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        Path(NAME).mkdir(parents=True)
        (Path(NAME) / "train.jsonl").write_text('{"problem": "local", "answer": "local"}\n')
        assert len(make_sums(dataset_name=NAME).rows) == 50

    def test_an_unknown_dataset_may_be_a_local_folder(self, make_sums, hub, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        Path("acme/local").mkdir(parents=True)
        with pytest.raises(HubError, match=r"To read the local folder .* data='.*acme/local'"):
            make_sums(dataset_name="acme/local")


class TestRefusals:
    def test_a_missing_dataset_is_an_error_that_says_to_log_in(self, make_sums, hub):
        with pytest.raises(
            HubError, match=r"'acme/none' doesn't exist .* If it is private, log in"
        ):
            make_sums(dataset_name="acme/none")

    def test_a_gated_dataset_is_an_error_that_says_where_to_request_access(self, make_sums, hub):
        hub.break_(NAME, "gated")
        with pytest.raises(HubError, match=r"is gated. Request access at http.*/acme/Sums-2k,"):
            make_sums(dataset_name=NAME)

    @pytest.mark.parametrize("name", ["a/b/c", "/data/train", "./sums", "a b", "train.jsonl/"])
    def test_a_malformed_name_of_a_dataset_is_an_error(self, make_sums, hub, name):
        with pytest.raises(DataError, match=r"named 'org/name', .* For local files, use data="):
            make_sums(dataset_name=name)

    def test_a_missing_revision_is_an_error(self, make_sums, hub):
        with pytest.raises(HubError, match=r"Revision 'v9' doesn't exist for dataset 'acme/Sums"):
            make_sums(dataset_name=f"{NAME}@v9")


@pytest.mark.usefixtures("short_pauses")
class TestUnreliableConnections:
    def test_a_download_that_fails_once_is_retried(self, make_sums, hub):
        hub.break_(NAME, "drop", times=1)
        assert len(make_sums(dataset_name=NAME).rows) == 50

    def test_a_download_that_always_fails_is_an_error_and_leaves_nothing(self, make_sums, hub):
        hub.break_(NAME, "drop")
        with pytest.raises(HubError, match=r"could not be downloaded from http://127.0.0.1"):
            make_sums(dataset_name=NAME)
        hub.heal()
        env = make_sums(dataset_name=NAME)
        assert [env.rows[n]["answer"] for n in range(50)] == [str(2 * n) for n in range(50)]

    def test_a_request_to_a_busy_hub_is_retried(self, make_sums, hub):
        hub.break_(NAME, "unavailable", times=1)
        assert len(make_sums(dataset_name=NAME).rows) == 50


def unresponsive_server():
    """Listen on a port that neither accepts nor refuses connections, as its queue is full."""
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen(0)
    queued = []
    for _ in range(4):
        queued.append(socket.socket())
        queued[-1].setblocking(False)
        queued[-1].connect_ex(server.getsockname())
    return server, queued


@pytest.fixture(params=["refused", "black hole", "unknown host", "offline mode"])
def no_network(request, hub, monkeypatch):
    """Make the hub unreachable; the cache stays."""
    kept = None
    if request.param == "refused":
        hub.close()
    elif request.param == "black hole":
        kept = unresponsive_server()
        port = kept[0].getsockname()[1]
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("HF_HUB_ETAG_TIMEOUT", "0.2")
    elif request.param == "unknown host":
        monkeypatch.setenv("HF_ENDPOINT", "http://no-such-host.invalid")
    else:
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    yield
    for connection in [kept[0], *kept[1]] if kept else []:
        connection.close()


class TestWithoutANetwork:
    @pytest.fixture(autouse=True)
    def cached(self, make_sums, hub):
        make_sums(dataset_name=NAME)
        forget_rows()
        hub.requests.clear()

    def test_without_a_network_the_cache_is_used(self, make_sums, hub, no_network):
        env = make_sums(dataset_name=NAME)
        assert sorted(env.reset()[0] for _ in range(50)) == sorted(f"{n} + {n}?" for n in range(50))
        assert hub.requests == []

    def test_the_error_for_an_uncached_dataset_says_what_to_do(self, make_sums, no_network):
        with pytest.raises(HubError) as caught:
            make_sums(dataset_name="acme/other")
        message = str(caught.value)
        assert "'acme/other' is not in the cache, and the hub is unreachable" in message
        for way_out in (":Sample", "data=", "HF_ENDPOINT", "HTTPS_PROXY", "HF_HOME"):
            assert way_out in message

    def test_a_revision_is_not_served_from_the_cache(self, make_sums, no_network):
        with pytest.raises(HubError, match=r"in the cache by revision \(omit '@...' to use"):
            make_sums(dataset_name=f"{NAME}@main")

    def test_a_split_that_is_not_in_the_cache_is_named(self, make_sums, hub):
        hub.close()
        with pytest.raises(DataError, match=r"no split 'test' .* It has: 'train'"):
            make_sums(dataset_name=NAME, split="test")


LOAD = f"""
import sys
from gem_core.errors import HubError
from gem_tasks import Grade, TaskEnv

class Sums(TaskEnv):
    def question(self, row): return row["problem"]
    def grade(self, action): return Grade(0.0, False)
    def solution(self): return ""

try:
    rows = Sums(dataset_name={NAME!r}, columns={{"problem": str}}).rows
    print(len(rows), "rows")
except HubError as error:
    print("unreachable" in str(error), "datasets" in sys.modules)
"""


class TestAnotherProcess:
    def test_a_missing_network_is_noticed_before_an_import(self, hub, run_python, tmp_path):
        environ = hub.environ(tmp_path / "empty")
        hub.close()
        assert run_python(LOAD, **environ).split() == ["True", "False"]

    def test_a_process_reads_the_cache_of_an_earlier_one(self, make_sums, hub, run_python):
        make_sums(dataset_name=NAME)
        environ = hub.environ(Path(os.environ["HF_HOME"]))
        hub.close()
        assert "50 rows" in run_python(LOAD, **environ)

    def test_a_process_behind_a_proxy_is_not_offline(self, hub, run_python, tmp_path):
        environ = hub.environ(tmp_path / "cache") | {
            "HF_ENDPOINT": "http://no-such-host.invalid",
            "HTTP_PROXY": hub.url,
            "http_proxy": hub.url,
        }
        assert "50 rows" in run_python(LOAD, **environ)
        assert (tmp_path / "cache" / "datasets").is_dir()


def test_deleting_the_cache_does_not_affect_a_running_process(make_sums, hub):
    env = make_sums(dataset_name=NAME, shuffle=False)
    shutil.rmtree(os.environ["HF_HOME"])
    assert [env.reset()[0] for _ in range(50)] == [f"{n} + {n}?" for n in range(50)]

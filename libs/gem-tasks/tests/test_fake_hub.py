"""The hub on loopback, which plugin authors use in their tests."""

import http.client
import os
import urllib.error
import urllib.request

import pytest

from gem_tasks.testing.fake_hub import FakeHub

pytestmark = pytest.mark.slow
ROWS = [{"problem": f"{n} + {n}?", "answer": str(2 * n)} for n in range(20)]


@pytest.fixture(scope="module")
def hub(datasets):
    with FakeHub({"acme/sums": {"train": ROWS, "test": ROWS[:5]}}) as hub:
        yield hub


@pytest.fixture(autouse=True)
def healthy(hub):
    hub.heal()


def ask(hub, path, timeout=30.0, **headers):
    request = urllib.request.Request(hub.url + path, headers=headers)  # noqa: S310 - loopback
    return urllib.request.urlopen(request, timeout=timeout)  # noqa: S310 - loopback


def status_of(hub, path):
    try:
        return ask(hub, path).status
    except urllib.error.HTTPError as error:
        return error.code


def file_path(split="train"):
    return f"/datasets/acme/sums/resolve/main/data/{split}-00000-of-00001.parquet"


class TestInProcess:
    def test_load_dataset_reads_the_served_rows(self, datasets, hub, tmp_path):
        with hub.in_process(tmp_path):
            loaded = datasets.load_dataset("acme/sums")
        assert {split: list(rows) for split, rows in loaded.items()} == {
            "train": ROWS,
            "test": ROWS[:5],
        }

    def test_leaving_the_hub_restores_the_settings(self, datasets, hub, tmp_path, monkeypatch):
        huggingface_hub = pytest.importorskip("huggingface_hub")
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")

        def settings():
            constants, config = huggingface_hub.constants, datasets.config
            return dict(os.environ), dict(vars(constants)), dict(vars(config))

        before = settings()
        with hub.in_process(tmp_path):
            assert os.environ["HF_ENDPOINT"] == huggingface_hub.constants.ENDPOINT == hub.url
            assert "HF_HUB_OFFLINE" not in os.environ
        assert settings() == before

    def test_one_hub_may_follow_another(self, datasets, hub, tmp_path):
        with FakeHub({"acme/sums": {"train": ROWS[:3]}}) as other:
            for name, server, count in [("a", hub, 20), ("b", other, 3), ("c", hub, 20)]:
                with server.in_process(tmp_path / name):
                    assert len(datasets.load_dataset("acme/sums")["train"]) == count

    def test_the_fixture_serves_the_datasets_that_a_test_adds(self, datasets, fake_hub):
        fake_hub.add("acme/more", {"train": datasets.Dataset.from_list(ROWS)})
        assert list(datasets.load_dataset("acme/more", split="train")) == ROWS


class TestRoutes:
    def test_the_fake_hub_records_its_requests(self, hub):
        hub.requests.clear()
        ask(hub, "/api/datasets/acme/sums?full=true").read()
        assert hub.requests == ["GET /api/datasets/acme/sums"]

    def test_a_range_of_a_file_can_be_requested(self, hub):
        whole = ask(hub, file_path()).read()
        part = ask(hub, file_path(), Range="bytes=10-19")
        assert (part.status, part.read()) == (206, whole[10:20])
        assert part.headers["Content-Range"] == f"bytes 10-19/{len(whole)}"

    def test_the_fake_hub_answers_with_the_statuses_of_the_real_one(self, hub, subtests):
        for path, status in [
            ("/api/datasets/acme/sums", 200),
            ("/api/datasets/acme/sums/revision/main", 200),
            ("/api/datasets/acme/sums/revision/v9", 404),
            ("/api/datasets/acme/sums/tree/main", 200),
            ("/api/datasets/acme/sums/tree/main/data", 200),
            ("/api/datasets/acme/sums/tree/main/none", 404),
            ("/datasets/acme/sums/resolve/main/README.md", 404),
            ("/api/datasets/acme/none", 401),
            ("/elsewhere", 404),
        ]:
            with subtests.test(path):
                assert status_of(hub, path) == status


class TestFaults:
    def test_a_fault_affects_the_given_number_of_requests(self, hub):
        hub.break_("acme/sums", "unavailable", times=2)
        assert [status_of(hub, file_path()) for _ in range(3)] == [503, 503, 200]

    def test_a_fault_lasts_until_it_is_healed(self, hub):
        hub.break_("acme/sums", "gated")
        assert {status_of(hub, file_path()) for _ in range(5)} == {401}
        hub.heal()
        assert status_of(hub, file_path()) == 200

    def test_the_connection_drops_in_the_middle_of_a_file(self, hub):
        hub.break_("acme/sums", "drop", times=1)
        assert status_of(hub, "/api/datasets/acme/sums") == 200
        with pytest.raises(http.client.IncompleteRead):
            ask(hub, file_path()).read()
        assert status_of(hub, file_path()) == 200

    def test_a_slow_response_meets_a_timeout(self, hub):
        hub.break_("acme/sums", "slow", times=1)
        with pytest.raises(TimeoutError):
            ask(hub, file_path(), timeout=0.2)
        assert status_of(hub, file_path()) == 200

    def test_a_closed_hub_refuses_connections_and_may_be_closed_again(self):
        with FakeHub({"acme/sums": {"train": ROWS}}) as hub:
            hub.close()
            with pytest.raises(urllib.error.URLError, match="refused"):
                ask(hub, file_path())

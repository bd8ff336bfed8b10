"""`gem-core data check`: rows in files, and datasets of the real library from a hub on loopback."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gem_core.plugins import default_registry
from gem_core.registry import Registry
from gem_core.specs import EnvSpec
from gem_tasks.data_check import DataChecker, DataReport
from gem_tasks.data_command import command
from gem_tasks.dataset_spec import DatasetSpec

SHA = "0123456789abcdef0123456789abcdef01234567"


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def run(*words: object) -> Result:
    return CliRunner().invoke(command, ["check", *map(str, words)])


def reports(*words: object) -> list[dict[str, Any]]:
    result = run(*words, "--format", "json")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    found: list[dict[str, Any]] = json.loads(result.stdout)
    return found


@pytest.fixture
def check(spec_of):
    """Return a function that checks the rows of ``Sums``."""

    def run(folder: Path | None = None, *, checker: Any = None, **kwargs: Any) -> DataReport:
        checker = checker or DataChecker(folder=folder, say=lambda line: None, timeout=30)
        return checker.check(spec_of(**{"dataset_name": "acme/sums"} | kwargs))

    return run


class TestFolders:
    def test_rows_that_fit_are_ok(self, check, tmp_path, sums):
        write(tmp_path / "acme" / "sums.jsonl", sums(30))
        report = check(tmp_path)
        assert (report.state, report.problem, report.rows, report.refused) == ("ok", "", 30, 0)
        assert report.needs == {"problem": "str", "answer": "Answer"}
        assert report.found == {"problem": "str", "answer": "str"}
        assert report.first_rows[1] == {"problem": "1 + 1?", "answer": "2"}
        assert report.revision.startswith("sha256:")
        assert (report.gold.tried, report.gold.right) == (20, 20)
        assert (report.wrong.tried, report.wrong.right) == (20, 20)

    @pytest.mark.parametrize("place", ["acme/sums", "acme--sums", "acme__sums", "sums"])
    def test_a_dataset_is_found_by_its_name(self, check, tmp_path, sums, place):
        write(tmp_path / f"{place}.json", sums(3))
        assert check(tmp_path).rows == 3

    def test_a_dataset_that_is_not_there_is_named(self, check, tmp_path):
        report = check(tmp_path)
        assert (report.state, report.cause) == ("unreachable", "missing")
        assert report.problem.startswith(f"acme/sums: not in {tmp_path}. Download it with `hf")

    def test_a_column_that_has_moved_is_named(self, check, tmp_path, sums):
        rows = [{"problem": row["problem"], "response": row["answer"]} for row in sums(3)]
        write(tmp_path / "sums.jsonl", rows)
        report = check(tmp_path)
        assert (report.state, report.cause) == ("failed", "schema")
        assert report.needs == {"problem": "str", "answer": "Answer"}
        assert "There is no column 'answer' in row 0" in report.problem
        assert "It has: problem, response." in report.problem
        assert "pin an earlier commit with revision=" in report.problem

    def test_every_refused_row_is_counted_and_the_others_are_graded(self, check, tmp_path, sums):
        rows: list[dict[str, Any]] = sums(2500)
        rows[3]["answer"], rows[7]["answer"] = None, " "
        rows[2400]["problem"] = rows[2400]["answer"] = None
        write(tmp_path / "sums.jsonl", rows)
        report = check(tmp_path)
        assert (report.state, report.cause, report.refused) == ("failed", "rows", 3)
        assert report.first_refused.startswith("Row 3 of ")
        assert "column 'answer': expected" in report.first_refused
        assert "3 of 2,500 rows are refused; the first: Row 3" in report.problem
        assert report.found["answer"] == "NoneType | str"
        assert report.gold.tried == report.gold.right == 20

    def test_a_gold_answer_that_is_not_graded_1_is_a_failure(self, check, tmp_path, sums):
        """``Sums`` grades the answer without the white space around it."""
        write(tmp_path / "sums.jsonl", [row | {"answer": f" {row['answer']}"} for row in sums(4)])
        report = check(tmp_path)
        assert (report.state, report.cause) == ("failed", "grading")
        assert "4 of 4 gold answers are not graded 1; the first: row 0" in report.problem
        assert (report.gold.right, report.wrong.right) == (0, 4)

    def test_a_wrong_answer_that_is_graded_correct_is_a_failure(self, check, tmp_path, sums):
        def generous(attempt: Any) -> float:
            return 1.0

        write(tmp_path / "sums.jsonl", sums(4))
        report = check(tmp_path, grader=generous)
        assert (report.state, report.cause) == ("failed", "grading")
        assert "4 of 4 rows grade a wrong answer correct" in report.problem

    def test_the_same_answer_to_two_rows_is_not_a_wrong_one(self, check, tmp_path, sums):
        write(tmp_path / "sums.jsonl", [row | {"answer": ["7", "seven"]} for row in sums(4)])
        assert check(tmp_path).state == "ok"

    def test_an_error_of_the_grader_is_reported(self, check, tmp_path, sums):
        def broken(attempt: Any) -> float:
            raise ZeroDivisionError("by nothing")

        write(tmp_path / "sums.jsonl", sums(2))
        report = check(tmp_path, grader=broken)
        assert "(ZeroDivisionError: by nothing)" in report.problem

    def test_later_environments_check_their_rows_again(self, check, tmp_path, sums, make_sums):
        path = write(tmp_path / "sums.jsonl", [{"problem": "?", "answer": None}])
        assert check(tmp_path).refused == 1
        with pytest.raises(Exception, match="Row 0"):
            make_sums(data=path)


@pytest.mark.slow
class TestDownloads:
    """Folders as the programs of the hub leave them; ``datasets`` reads them."""

    def test_the_cache_of_the_hub_has_the_commit(self, check, tmp_path, sums, datasets):
        cached = tmp_path / "hub" / "datasets--acme--sums"
        write(cached / "snapshots" / SHA / "data" / "train.jsonl", sums(3))
        write(cached / "snapshots" / SHA / "data" / "test.jsonl", sums(2))
        write(cached / "refs" / "main", []).write_text(SHA)
        report = check(tmp_path, split="test")
        assert (report.state, report.rows, report.revision) == ("ok", 2, SHA)
        assert check(tmp_path, split="test", revision=SHA[:7]).rows == 2
        assert check(tmp_path, split="test", revision="v9").cause == "missing"
        assert "It has: 'train', 'test'" in check(tmp_path, split="dev").problem

    def test_a_local_folder_has_the_commit_beside_it(self, check, tmp_path, sums, datasets):
        local = tmp_path / "acme" / "sums"
        write(local / "main" / "train.jsonl", sums(3))
        note = local / ".cache" / "huggingface" / "download" / "main" / "train.jsonl.metadata"
        write(note, []).write_text(f"{SHA}\n0\n0\n")
        report = check(tmp_path, dataset_name="acme/sums:main")
        assert (report.state, report.rows) == ("ok", 3)
        assert check(tmp_path).revision == SHA
        assert check(tmp_path, dataset_name="acme/sums:socratic").cause == "missing"


@pytest.mark.slow
class TestHub:
    def test_the_report_has_the_commit_and_the_size(self, check, fake_hub, sums):
        fake_hub.add("acme/sums", {"train": sums(30), "test": sums(3)})
        report = check(split="train")
        assert (report.state, report.problem) == ("ok", "")
        assert (report.revision, report.rows) == (fake_hub.commit("acme/sums"), 30)
        assert report.files == 2
        assert report.size is not None
        assert report.size > 1000
        pinned = check(split="test", revision=report.revision)
        assert (pinned.state, pinned.rows) == ("ok", 3)
        assert check(split="test", revision="v9").problem.startswith(
            "acme/sums has no revision 'v9'"
        )

    def test_the_first_rows_can_be_streamed(self, check, fake_hub, sums):
        fake_hub.add("acme/sums", {"train": sums(300)})
        checker = DataChecker(rows=5, stream=True, say=lambda line: None)
        report = check(checker=checker)
        assert (report.state, report.rows) == ("ok", None)
        assert report.gold.tried == 5
        assert report.notes == ["only the first 5 rows were looked at (--stream)"]

    def test_each_way_not_to_arrive_has_its_cause(self, check, fake_hub, sums):
        for name in ("gated", "unavailable"):
            fake_hub.add(f"acme/{name}", {"train": sums(3)})
            fake_hub.break_(f"acme/{name}", name)
        found = {
            name: check(dataset_name=f"acme/{name}") for name in ("gated", "unavailable", "unknown")
        }
        assert {report.state for report in found.values()} == {"unreachable"}
        causes = {name: report.cause for name, report in found.items()}
        assert causes == {
            "gated": "gated",
            "unavailable": "server error",
            "unknown": "not found",
        }
        assert "hf auth login" in found["gated"].problem
        assert "status 503" in found["unavailable"].problem

    def test_a_silent_hub_is_asked_once(self, check, fake_hub, sums):
        fake_hub.add("acme/sums", {"train": sums(3)})
        fake_hub.break_("acme/sums", "silent")
        checker = DataChecker(timeout=0.5, say=lambda line: None)
        first, second = (check(checker=checker) for _ in range(2))
        assert first.cause == second.cause == "no answer"
        assert "no answer within 0.5 s" in first.problem
        assert len(fake_hub.requests) == 1

    def test_a_download_without_progress_ends(self, check, fake_hub, sums):
        fake_hub.add("acme/sums", {"train": sums(3)})
        fake_hub.break_("acme/sums", "stall")
        report = check(checker=DataChecker(say=lambda line: None, timeout=2))
        assert (report.cause, report.rows) == ("no answer", None)
        assert "nothing arrived from" in report.problem
        fake_hub.close()
        for thread in threading.enumerate():
            if thread.name == "gem-data":  # it would go on in the cache of the next test
                thread.join()

    def test_without_a_network_the_cache_is_checked(self, check, fake_hub, sums):
        fake_hub.add("acme/sums", {"train": sums(3)})
        commit = fake_hub.commit("acme/sums")
        assert check().state == "ok"
        fake_hub.close()
        report = check()
        assert (report.state, report.rows, report.revision) == ("ok", 3, commit)
        assert check(dataset_name="acme/others").cause == "no network"


class TestCommand:
    def test_ids_of_the_hub_have_options(self, tmp_path):
        rows = [{"question": f"{n}?", "answer": f"So it is\n#### {n}"} for n in range(3)]
        write(tmp_path / "sums.jsonl", rows)
        words = ("hf:acme/sums", "answer_after=####", "--folder", tmp_path)
        result = run(*words)
        assert result.exit_code == 0, result.output
        assert "3/3" in result.output
        assert "1 of 1 checked: 1 ok." in result.output
        assert "[1/1] hf:acme/sums" in result.stderr
        (report,) = reports(*words)
        assert (report["state"], report["gold"]["right"]) == ("ok", 3)

    def test_all_are_the_ids_over_datasets_of_any_plugin(self, tmp_path, sums, spec_of, mine):
        write(tmp_path / "sums.jsonl", sums(3))
        result = run("all", "--folder", tmp_path)
        assert result.exit_code == 1  # no other dataset is in the folder
        found = {one["id"]: one["state"] for one in reports("all", "--folder", tmp_path)}
        assert found.pop("acme:OverTheHub") == "ok"
        assert "acme:Own" not in found
        assert set(found.values()) <= {"unreachable"}

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["hf:acme/sums", "split"], "split"),
            (["hf:acme/sums", "splt=train"], "Did you mean 'split'?"),
            (["split=train"], "Name environments before their options"),
            (["acme:Own"], "acme:Own has no rows of its own"),
            (["acme:Ow*"], "No environment over a dataset of the hub matches 'acme:Ow*'"),
        ],
    )
    def test_bad_words_are_refused(self, mine, words, message):
        result = run(*words)
        assert message in str(result.exception), result.output

    @pytest.mark.slow
    def test_an_interrupt_keeps_what_was_found(self, fake_hub, tmp_path, sums):
        fake_hub.add("acme/sums", {"train": [{"question": "1?", "answer": "1"}]})
        fake_hub.add("acme/silent", {"train": sums(3)})
        fake_hub.break_("acme/silent", "silent")
        words = ["data", "check", "hf:acme/sums", "hf:acme/silent", "--format", "json"]
        process = subprocess.Popen(
            [sys.executable, "-m", "gem_core", *words],
            env=fake_hub.environ(tmp_path / "other"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("[2/2]"):
                break
        while "GET /api/datasets/acme/silent" not in " ".join(fake_hub.requests):
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGINT)
        out, _ = process.communicate(timeout=30)
        assert process.returncode == 130
        assert [one["id"] for one in json.loads(out)] == ["hf:acme/sums"]


@pytest.fixture
def mine(spec_of):
    """Register two environments of a third party, one of them over a dataset of the hub."""
    target = spec_of().entry_point
    specs = [
        DatasetSpec(
            id="acme:OverTheHub",
            entry_point=target,
            kwargs={"dataset_name": "acme/sums"},
            return_range=(0.0, 1.0),
            other_rows="acme:Own",
        ),
        EnvSpec(id="acme:Own", entry_point=target),
    ]
    registry: Registry = default_registry()
    registry.add(*specs)
    yield
    for spec in specs:
        registry._specs["envs"].pop(spec.id)

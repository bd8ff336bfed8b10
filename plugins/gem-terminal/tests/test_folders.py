"""Folders of tasks, where they can run, and the command that lists them."""

import json
import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from gem_core.errors import ConfigError
from gem_sandbox.machines.local.provider import LocalProvider
from gem_terminal.commands import command
from gem_terminal.folders import read_folder
from gem_terminal.harbor import read_harbor
from gem_terminal.placement import outlook_of
from gem_terminal.tasks import find_tasks


def harbor(folder: Path, toml: str = "", dockerfile: str = "") -> Path:
    for name, text in {
        "task.toml": toml,
        "instruction.md": "Do it.",
        "tests/test.sh": "true",
        "environment/Dockerfile": dockerfile,
    }.items():
        if text or name == "task.toml":
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
    return folder


def terminal_bench(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "task.yaml").write_text("instruction: Do it.\n")
    (folder / "docker-compose.yaml").write_text("services: {client: {image: example/x}}\n")
    (folder / "run-tests.sh").write_text("pytest\n")
    return folder


@pytest.fixture
def mixture(tmp_path: Path) -> Path:
    harbor(tmp_path / "b")
    terminal_bench(tmp_path / "sub" / "a")
    harbor(tmp_path / "sub" / "gpu", "[environment]\ngpus = 1\n")
    harbor(tmp_path / "bad", "agent = 3\n")
    harbor(tmp_path / ".hidden" / "c")
    harbor(tmp_path / "b" / "tests" / "inner")
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "notes.txt").write_text("not a task")
    return tmp_path


def test_a_mixture_is_read_in_the_order_of_its_paths(mixture):
    found = read_folder(mixture)
    names = [each.path.relative_to(mixture).as_posix() for each in found]
    assert names == ["b", "bad", "sub/a", "sub/gpu"]
    assert [each.format for each in found] == ["harbor", "harbor", "terminal-bench", "harbor"]
    assert [each.task is not None for each in found] == [True, False, True, False]
    assert [str(each.refusal) for each in found if each.refusal] == [
        "task.toml: agent: must be a table; got 3.",
        "The task needs a GPU.",
    ]


def test_the_folder_of_a_task_is_read_as_one_task(tmp_path):
    [found] = read_folder(harbor(tmp_path / "one"))
    assert found.task is not None
    assert found.task.id == "one"


@pytest.mark.parametrize(
    ("name", "reason"), [("nowhere", "does not exist"), ("file", "not a folder")]
)
def test_what_is_not_a_folder_is_an_error(tmp_path, name, reason):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=reason):
        read_folder(tmp_path / name)


HOST = "the base is this host's programs for debian"


@pytest.mark.parametrize(
    ("dockerfile", "state", "reason"),
    [
        ("", "runs", ""),
        (
            "FROM debian\nENV A=1\nARG B\nWORKDIR /app\nCOPY . .\nADD x y\nUSER u\nRUN a \\\n b",
            "may run",
            HOST,
        ),
        ("FROM debian\nRUN cat <<<word && echo $((1<<3))", "may run", HOST),
        ("FROM debian\nRUN <<EOF\nCMD x\nEOF\nENV A=1", "may run", HOST),
        ("FROM debian\n\nRUN apt-get -y install git", "may run", "RUN at line 3 installs packages"),
        ("FROM debian\n# note\nONBUILD RUN x", "needs docker", "line 3: ONBUILD"),
        ("FROM a AS one\nFROM b\nCOPY --from=one /x /x", "needs docker", "line 3: COPY --from=one"),
        ("FROM a\nFROM b", "needs docker", "2 stages"),
        ("RUN true", "needs docker", "0 stages"),
        ("FROM a\nADD https://example.org/x /x", "needs docker", "remote"),
        ("FROM a\nRUN --mount=type=secret,id=x make", "needs docker", "--mount"),
    ],
)
def test_the_dockerfile_decides_where_a_task_runs(tmp_path, dockerfile, state, reason):
    task = read_harbor(harbor(tmp_path / "one", dockerfile=dockerfile))
    with LocalProvider(images={}) as provider:
        outlook = outlook_of(task, provider)
    assert outlook.state == state
    assert reason in "; ".join(outlook.reasons)
    assert bool(outlook.reasons) == (state != "runs")


@pytest.mark.parametrize(
    ("options", "state", "reason"),
    [
        ({"images": {"debian": "{root}"}}, "runs", ""),
        ({"images": {"*": "{root}"}}, "may run", "for debian:latest, by '*'"),
        (
            {"images": {"debian": "{root}"}, "build_network": "none"},
            "may run",
            "RUN at line 2 needs a network (apt-get install)",
        ),
    ],
)
def test_a_root_that_is_the_image_leaves_no_doubt(tmp_path, options, state, reason):
    (tmp_path / "root").mkdir()
    images = {name: str(tmp_path / "root") for name in options["images"]}
    task = read_harbor(
        harbor(tmp_path / "one", dockerfile="FROM debian:latest\nRUN apt-get install x")
    )
    with LocalProvider(**{**options, "images": images}) as provider:
        outlook = outlook_of(task, provider)
    assert outlook.state == state
    assert reason in "; ".join(outlook.reasons)


def test_an_image_needs_docker_unless_a_root_stands_for_it(tmp_path):
    task = read_harbor(harbor(tmp_path / "one", '[environment]\ndocker_image = "example/x"\n'))
    with LocalProvider(images={}) as provider:
        expected = ("needs docker", ("starts from the image 'example/x'",))
        assert outlook_of(task, provider) == expected
    with LocalProvider(images={"example/x": str(tmp_path)}) as provider:
        assert outlook_of(task, provider).state == "runs"


def test_tests_that_fetch_what_they_use_need_it_to_be_there(tmp_path):
    folder = harbor(tmp_path / "one")
    (folder / "tests/test.sh").write_text("# curl\ncd /app\ncurl -LsSf https://x.example | sh\n")
    task = read_harbor(folder)
    with LocalProvider(images={}) as provider:
        [reason] = outlook_of(task, provider).reasons
        assert "the tests need a network at line 3 of test.sh (curl)" in reason
    with LocalProvider(images={}, installed="skip") as provider:
        assert outlook_of(task, provider).state == "runs"


class TestTheCommand:
    def run(self, *arguments: object):
        return CliRunner().invoke(command, ["tasks", *map(str, arguments)])

    def test_json_says_what_runs_and_why_not(self, mixture):
        result = self.run(mixture, "--format", "json")
        assert result.exit_code == 0
        rows = {row["id"]: row for row in json.loads(result.stdout)}
        states = {name: row["state"] for name, row in rows.items()}
        assert states == {
            "b": "runs",
            "a": "needs docker",
            "gpu": "unsupported",
            "bad": "malformed",
        }
        assert rows["gpu"]["reasons"] == ["The task needs a GPU."]
        assert rows["bad"]["reasons"] == ["task.toml: agent: must be a table; got 3."]

    def test_the_table_has_a_line_for_each_task_and_a_summary(self, mixture):
        result = self.run(mixture)
        assert result.exit_code == 0
        counts = "1 runs, 1 needs docker, 1 unsupported, 1 malformed, 2 forgeable"
        assert f"4 tasks: {counts}." in result.stdout
        assert "GPU" in result.stdout

    def test_many_tasks_are_counted_by_reason(self, tmp_path):
        for number in range(60):
            harbor(tmp_path / f"t{number}", dockerfile=f"FROM a\nFROM image{number}")
        result = self.run(tmp_path)
        assert re.search(
            r"^ *60 +needs docker +the Dockerfile has 2 stages", result.stdout, re.MULTILINE
        )
        assert "t17" not in result.stdout
        assert "t17" in self.run(tmp_path, "--all").stdout

    def test_a_folder_without_a_task_that_can_be_read_is_a_failure(self, tmp_path):
        assert self.run(tmp_path).exit_code == 1
        assert "No task.toml" in self.run(tmp_path).output
        harbor(tmp_path / "bad", "agent = 3\n")
        assert self.run(tmp_path).exit_code == 1

    def test_a_missing_folder_is_an_error(self, tmp_path):
        result = self.run(tmp_path / "nowhere")
        assert isinstance(result.exception, ConfigError)

    def test_any_name_of_a_folder_can_be_printed(self, tmp_path):
        harbor(tmp_path / os.fsdecode(b"a\xff\x1b[31m"))
        assert self.run(tmp_path).exit_code == 0
        assert "\x1b" not in self.run(tmp_path).stdout
        assert self.run(tmp_path, "--format", "json").exit_code == 0


def test_a_folder_that_has_changed_is_read_again(tmp_path):
    def instructions():
        return [task.instruction for task in find_tasks("harbor", tmp_path).tasks]

    harbor(tmp_path / "one")
    assert instructions() == ["Do it."]
    harbor(tmp_path / "two")
    (tmp_path / "two/instruction.md").write_text("Do something else.")
    assert instructions() == ["Do it.", "Do something else."]
    (tmp_path / "one/instruction.md").write_text("Do nothing.")
    assert instructions() == ["Do nothing.", "Do something else."]

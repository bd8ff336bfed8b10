"""Folders of tasks, where they can run, and the command that lists them."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from gem_core.errors import ConfigError
from gem_terminal.commands import command
from gem_terminal.folders import read_folder
from gem_terminal.harbor import read_harbor
from gem_terminal.placement import machine_for


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


@pytest.mark.parametrize(
    ("dockerfile", "machine", "reason"),
    [
        ("", "local", ""),
        (
            "FROM debian\nENV A=1\nARG B\nWORKDIR /app\nCOPY . .\nADD x y\nUSER u\nRUN a \\\n b",
            "local",
            "",
        ),
        ("FROM debian\n# note\nCMD bash\nEXPOSE 80\nLABEL a=b", "local", ""),
        ("FROM debian\n# note\nONBUILD RUN x", "docker", "line 3: ONBUILD"),
        (
            "FROM a AS one\nFROM b\nCOPY --from=one /x /x",
            "docker",
            "line 3: COPY --from=one",
        ),
        ("FROM a\nFROM b", "docker", "one stage"),
        ("RUN true", "docker", "one stage"),
        ("FROM a\nADD https://example.org/x /x", "docker", "remote"),
        ("FROM a\nRUN <<EOF\nCMD x\nEOF\nENV A=1", "docker", "line 2: RUN with a here-document"),
        ("FROM a\nRUN cat <<<word && echo $((1<<3))", "local", ""),
        ("FROM a\nRUN --mount=type=cache,target=/c make", "docker", "--mount"),
    ],
)
def test_the_dockerfile_decides_on_the_machine(tmp_path, dockerfile, machine, reason):
    placement = machine_for(read_harbor(harbor(tmp_path / "one", dockerfile=dockerfile)))
    assert placement.machine == machine
    assert reason in placement.reason
    assert bool(placement.reason) == (machine == "docker")


def test_an_image_needs_docker(tmp_path):
    task = read_harbor(harbor(tmp_path / "one", '[environment]\ndocker_image = "example/x"\n'))
    assert machine_for(task) == ("docker", "starts from the image 'example/x'")


class TestTheCommand:
    def run(self, *arguments: object):
        return CliRunner().invoke(command, ["tasks", *map(str, arguments)])

    def test_json_says_what_runs_and_why_not(self, mixture):
        result = self.run(mixture, "--format", "json")
        assert result.exit_code == 0
        rows = {row["id"]: row for row in json.loads(result.stdout)}
        assert (rows["b"]["runs"], rows["b"]["machine"]) == (True, "local")
        assert (rows["a"]["runs"], rows["a"]["machine"]) == (True, "docker")
        assert rows["gpu"]["reason"] == "unsupported: The task needs a GPU."
        assert rows["bad"]["reason"] == "malformed: task.toml: agent: must be a table; got 3."
        assert not rows["bad"]["runs"]

    def test_the_table_has_a_line_for_each_task_and_a_summary(self, mixture):
        result = self.run(mixture)
        assert result.exit_code == 0
        assert "4 tasks: 1 on local, 1 on docker, 2 not, 2 forgeable." in result.stdout
        assert "GPU" in result.stdout

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

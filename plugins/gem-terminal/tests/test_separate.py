"""Verifiers with an image of their own: what they get of the agent's machine, and what not."""

from pathlib import Path

import pytest

from gem_core.errors import ConfigError
from gem_terminal.harbor import read_harbor
from gem_terminal.placement import outlook_of
from gem_terminal.verify import GradingError

TOML = """\
artifacts = ["answer", "/app/out", "/app/missing", {source = "/tests", destination = "x"}]
[verifier]
environment_mode = "separate"
[verifier.environment.env]
SECRET = "42"
[environment]
workdir = "/app"
"""
FILES = {
    "instruction.md": "Answer.",
    "tests/Dockerfile": "FROM debian:12\nWORKDIR /judge\nCOPY . /tests/\nRUN echo 7 > /judge/key\n",
    "tests/test.sh": "cd /judge; find /app /logs/artifacts -type f | sort\n"
    "[ -e /app/other ] && exit\n"
    'if [ "$(cat /app/answer)" = "$(cat key) $SECRET" ]; then echo 1; else echo 0; fi'
    " > /logs/verifier/reward.txt\n",
}


def make(folder: Path, toml: str = TOML, **files: str):
    for name, text in {**FILES, "task.toml": toml, **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return read_harbor(folder)


def test_the_machine_that_grades_is_read_from_the_folder_of_the_tests(tmp_path):
    task = make(tmp_path)
    assert Path(task.verifier_machine.build) == tmp_path / "tests"
    assert (task.verifier_machine.workdir, task.verifier_machine.env) == (
        "/judge",
        {"SECRET": "42"},
    )
    assert (task.mode, task.machine.build, task.unread) == ("fresh", "", ())


def test_an_image_of_the_verifier_needs_an_engine(provider, tmp_path):
    toml = '[verifier.environment]\ndocker_image = "judge:1"\n'
    task = make(tmp_path, toml, **{"tests/Dockerfile": "FROM debian:12\n"})
    assert task.verifier_machine.image == ""  # a Dockerfile comes first
    assert outlook_of(task, provider).state != "needs docker"
    (tmp_path / "tests/Dockerfile").unlink()
    task = read_harbor(tmp_path)
    assert task.verifier_machine.image == "judge:1"
    assert outlook_of(task, provider).reasons[0].startswith("the verifier's machine: ")


def test_the_verifier_gets_what_is_declared_and_nothing_else(bench, tmp_path):
    task = make(tmp_path)
    right = "echo 7 42 > /app/answer"
    step = bench.play(
        task,
        right,
        "mkdir -p /app/out/d /logs/artifacts; cd /app/out; echo x > d/f; ln -s d link",
        "echo a > /logs/artifacts/a; touch /app/other",
        "mkdir -p /tests /judge /logs/verifier; echo 8 > /judge/key; echo > /tests/test.sh",
        "echo 1 > /logs/verifier/reward.txt",
    )
    assert (step.reward, step.info.get("ended_by")) == (1, None)
    assert step.info["left_behind"] == ["/app/out/link"]
    seen = step.info["verifier_output"].split()
    assert seen == ["/app/answer", "/app/out/d/f", "/logs/artifacts/a"]
    assert bench.pays(task) == 0
    assert bench.pays(task, "echo 7 41 > /app/answer") == 0


def test_tests_that_the_image_does_not_have_are_put_there(bench, tmp_path):
    task = make(
        tmp_path, **{"tests/Dockerfile": "FROM debian:12\nWORKDIR /judge\nRUN echo 7 > key\n"}
    )
    assert bench.pays(task, "echo 7 42 > /app/answer") == 1


def test_a_verifier_that_fails_without_an_agent_too_is_a_fault(bench, tmp_path):
    with pytest.raises(ConfigError, match="line 2: RUN ended"):
        bench.play(make(tmp_path, **{"tests/Dockerfile": "FROM debian:12\nRUN false\n"}))
    with pytest.raises(GradingError, match="wrote neither"):
        bench.play(make(tmp_path, **{**FILES, "tests/test.sh": "true\n"}))


def test_artifacts_that_cannot_be_copied_are_paid_nothing(bench, tmp_path):
    task = make(tmp_path)
    step = bench.play(task, "truncate -s 300M /app/answer")
    assert step.reward == 0
    assert "bytes" in step.info["ended_by"]


def test_what_tools_would_take_for_their_own_code_is_no_artifact(bench, tmp_path):
    files = {
        "task.toml": TOML.replace('"answer", "/app/out"', '"/app"'),
        "tests/Dockerfile": "FROM debian:12\nWORKDIR /judge\n",
        "tests/test.sh": "mkdir -p /app; cd /app; python3 -m json.tool /tests/key answer\n"
        "cmp -s /tests/key answer; echo $((1 - $?)) > /logs/verifier/reward.txt\n",
        "tests/key": "7",
    }
    task = make(tmp_path, **files)
    forged = 'mkdir -p json/sub; echo \'open("/app/answer", "w").write("7")\' > json/tool.py'
    step = bench.play(task, f"cd /app; {forged}; touch json/__init__.py conftest.py data.py")
    assert (step.reward, "ended_by" in step.info) == (0, False)
    assert step.info["left_behind"] == ["/app/conftest.py", "/app/json/__init__.py"]

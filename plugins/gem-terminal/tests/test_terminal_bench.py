"""Task folders of Terminal-Bench 1."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_core.errors import ConfigError
from gem_terminal.task import UnsupportedTaskError
from gem_terminal.terminal_bench import read_terminal_bench

TASK = """\
instruction: |-
  Sort the file /app/names.txt.
author_name: A. Writer
difficulty: easy
category: files
tags: [sort, 3]
parser_name: pytest
max_agent_timeout_sec: 180.0
max_test_timeout_sec: 30.0
run_tests_in_same_shell: false
disable_asciinema: true
mood: good
"""
COMPOSE = """\
services:
  client:
    build: {dockerfile: Dockerfile}
    image: ${T_BENCH_TASK_DOCKER_CLIENT_IMAGE_NAME}
    container_name: ${T_BENCH_TASK_DOCKER_CLIENT_CONTAINER_NAME}
    command: [sh, -c, sleep infinity]
    environment:
      - TEST_DIR=${T_BENCH_TEST_DIR}
      - EMPTY
    volumes:
      - ${T_BENCH_TASK_LOGS_PATH}:${T_BENCH_CONTAINER_LOGS_PATH}
    deploy:
      resources:
        limits: {cpus: "0.5", memory: 512M, pids: 10}
"""
FILES = {
    "task.yaml": TASK,
    "docker-compose.yaml": COMPOSE,
    "Dockerfile": "FROM debian:bookworm\nWORKDIR /app\n",
    "run-tests.sh": "pytest $TEST_DIR/test_outputs.py -rA\n",
    "tests/test_outputs.py": "def test_it(): pass\n",
    "solution.sh": "sort -o /app/names.txt /app/names.txt\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make(tmp_path / "sort-names")


def make(folder: Path, **files: str) -> Path:
    for name, text in {**FILES, **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_every_field_of_a_task_is_read(folder):
    task = read_terminal_bench(folder)
    assert (task.id, task.instruction) == ("sort-names", "Sort the file /app/names.txt.")
    assert set(task.tests) == {"run-tests.sh", "test_outputs.py"}
    assert (task.verify_command, task.reward) == ("bash /tests/run-tests.sh", "pytest")
    assert (task.agent_timeout, task.verifier_timeout) == (180, 30)
    assert task.verifier_env == {"TEST_DIR": "/tests"}
    assert task.solution == {"solve.sh": FILES["solution.sh"].encode()}
    assert (task.mode, task.internet) == ("fresh", True)
    assert task.metadata["tags"] == ["sort", "3"]
    assert task.metadata["author_name"] == "A. Writer"
    assert task.unread == (
        "mood",
        "docker-compose.yaml: services.client.deploy.resources.limits.pids",
    )
    assert (task.machine.cpus, task.machine.memory) == (0.5, 512 << 20)
    assert Path(task.machine.build) == folder
    assert task.machine.workdir == "/app"
    assert task.machine.env == {"TEST_DIR": "/tests", "EMPTY": ""}


def test_limits_have_the_defaults_of_the_format(folder):
    task = read_terminal_bench(make(folder, **{"task.yaml": "instruction: Do it.\n"}))
    assert (task.agent_timeout, task.verifier_timeout) == (360, 60)


def test_tests_in_the_same_shell_run_on_the_same_machine_in_another_shell(folder):
    make(folder, **{"task.yaml": "instruction: Do it.\nrun_tests_in_same_shell: true\n"})
    task = read_terminal_bench(folder)
    assert task.mode == "shared"
    assert "run_tests_in_same_shell" in task.unread


def test_commands_of_a_solution_become_a_script(folder):
    (folder / "solution.sh").unlink()
    make_yaml = (
        "- {command: cd /app, block: true}\n- {command: make, block: true, min_timeout_sec: 2}\n"
    )
    (folder / "solution.yaml").write_text(make_yaml)
    assert read_terminal_bench(folder).solution == {"solve.sh": b"cd /app\nmake\n"}


def test_keys_of_a_solution_cannot_become_a_script(folder):
    (folder / "solution.sh").unlink()
    (folder / "solution.yaml").write_text('- {command: ":wq", append_enter: true, block: false}\n')
    task = read_terminal_bench(folder)
    assert task.solution == {}
    assert "solution.yaml" in task.unread


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"task.yaml": "instruction: x\nparser_name: swebench\n"}, "'swebench'"),
        (
            {"docker-compose.yaml": f"{COMPOSE}  db:\n    image: postgres\n"},
            "'db' has the image 'postgres'",
        ),
        ({"docker-compose.yaml": f"{COMPOSE}    cap_add: [NET_ADMIN]\n"}, "cap_add"),
        (
            {
                "docker-compose.yaml": "services: {a: {image: x, deploy: {resources: "
                "{reservations: {devices: [gpu]}}}}}"
            },
            "devices",
        ),
        ({"docker-compose.yaml": "services: {a: {build: {dockerfile: Other}}}"}, "'Other'"),
    ],
)
def test_a_task_that_needs_what_machines_do_not_have_is_refused_with_the_reason(
    folder, files, reason
):
    with pytest.raises(UnsupportedTaskError, match=reason):
        read_terminal_bench(make(folder, **files))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"task.yaml": "instruction: [1"}, "cannot be parsed as YAML"),
        ({"task.yaml": "- 1"}, "must be a table"),
        ({"task.yaml": "difficulty: easy"}, "instruction"),
        ({"task.yaml": "instruction: x\nmax_agent_timeout_sec: soon"}, "valid number; got 'soon'"),
        ({"docker-compose.yaml": "services: {a: {build: {context: ../..}}}"}, "outside the task"),
        ({"docker-compose.yaml": "services: {a: {build: sub}}"}, r"sub/Dockerfile is missing"),
        ({"docker-compose.yaml": "a: &a {x: 1}\nb: {<<: [*a, *a]}"}, "merges several"),
        (
            {"docker-compose.yaml": "services: {a: {image: x, environment: ['K=${KEY}']}}"},
            r"environment\.K: needs the variable KEY",
        ),
    ],
)
def test_a_malformed_task_is_refused_with_the_field(folder, files, message):
    with pytest.raises(ConfigError, match=message):
        read_terminal_bench(make(folder, **files))


@pytest.mark.parametrize("name", ["docker-compose.yaml", "run-tests.sh", "Dockerfile"])
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(ConfigError, match=f"{name} is missing"):
        read_terminal_bench(folder)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["a", "build", "environment", "image"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)
KEYS = st.sampled_from(
    [
        "instruction",
        "parser_name",
        "tags",
        "difficulty",
        "max_agent_timeout_sec",
        "run_tests_in_same_shell",
        "services",
        "command",
    ]
)


@pytest.mark.slow
@settings(
    max_examples=150 if thorough() else 25, deadline=None, suppress_health_check=list(HealthCheck)
)
@given(
    name=st.sampled_from(["task.yaml", "docker-compose.yaml", "solution.yaml"]),
    content=st.dictionaries(KEYS, VALUES, max_size=4)
    | st.lists(st.dictionaries(KEYS, VALUES, max_size=3), max_size=3)
    | st.binary(max_size=100)
    | st.text(alphabet="{}[]:,-&*!<| \nab1\"'", max_size=60),
)
def test_any_content_is_read_or_refused(tmp_path, name, content):
    yaml = pytest.importorskip("yaml")
    folder = make(tmp_path / "task")
    (folder / "solution.sh").unlink()
    if isinstance(content, str):
        content = content.encode()
    elif not isinstance(content, bytes):
        content = yaml.safe_dump(content).encode()
    (folder / name).write_bytes(content)
    with contextlib.suppress(ConfigError):
        read_terminal_bench(folder)


def test_an_instruction_that_is_the_key_of_a_description_stands_for_all_of_them(folder):
    yaml = "instruction: base\ndescriptions:\n- {key: base, description: Solve it.}\n"
    make(folder, **{"task.yaml": f"{yaml}- {{key: problem, description: Add a and b.}}\n"})
    assert read_terminal_bench(folder).instruction == "Solve it.\n\nAdd a and b."

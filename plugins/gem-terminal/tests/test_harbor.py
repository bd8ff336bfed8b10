"""Harbor's task folders: what is read, what is refused, and that nothing else is raised."""

import contextlib
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_core.errors import ConfigError
from gem_terminal.harbor import read_harbor
from gem_terminal.task import UnsupportedTaskError

FULL = """\
schema_version = "1.2"
[task]
name = "ours/mend"
description = "Mend it."
[metadata]
difficulty = "easy"
[agent]
timeout_sec = 300
user = "agent"
[verifier]
timeout_sec = 90.5
user = 1000
[verifier.env]
MODEL = "${MODEL:-small}"
[solution.env]
ANSWER = "${ANSWER}"
[environment]
docker_image = "example/mend:1"
build_timeout_sec = 60
cpus = 2
memory_mb = 512
storage_mb = 100
allow_internet = false
skills_dir = "/skills"
[environment.env]
PLACE = "at ${PLACE:-home}"
"""
DOCKERFILE = """\
# escape=\\
FROM debian:bookworm
ARG base=/srv
ENV APP=$base/app
WORKDIR ${APP}
RUN mkdir -p data && \\
    # a comment inside

    touch data/x
WORKDIR data
USER worker:staff
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make(tmp_path / "mend")


def make(folder: Path, toml: str = "", **files: str) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    texts = {
        "task.toml": toml,
        "instruction.md": "Mend the file.\n",
        "tests/test.sh": "echo 1 > /logs/verifier/reward.txt\n",
        **files,
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_every_field_of_a_task_is_read(folder):
    make(
        folder,
        FULL,
        **{
            "environment/Dockerfile": DOCKERFILE,
            "solution/solve.sh": "true\n",
            "solution/data/a": "b",
        },
    )
    task = read_harbor(folder, variables={"ANSWER": "42"})
    assert (task.id, task.instruction) == ("ours/mend", "Mend the file.")
    assert task.tests == {"test.sh": b"echo 1 > /logs/verifier/reward.txt\n"}
    assert task.solution == {"data/a": b"b", "solve.sh": b"true\n"}
    assert (task.agent_timeout, task.verifier_timeout) == (300, 90.5)
    assert task.machine.build_timeout == 60
    assert (task.agent_user, task.verifier_user) == ("agent", "1000")
    assert (task.verifier_env, task.solution_env) == ({"MODEL": "small"}, {"ANSWER": "42"})
    assert (task.mode, task.reward, task.internet) == ("fresh", "harbor", False)
    assert task.metadata == {"description": "Mend it.", "difficulty": "easy"}
    assert task.unread == ("environment.skills_dir",)
    machine = task.machine
    assert (machine.image, task.prebuilt) == ("", "example/mend:1")
    assert Path(machine.build) == folder / "environment"
    assert (machine.workdir, machine.user) == ("/srv/app/data", "worker")
    assert (machine.cpus, machine.memory, machine.disk) == (2, 512 << 20, 100 << 20)
    assert machine.env == {"PLACE": "at home"}
    assert machine.network == "none"


def test_a_folder_with_the_necessary_files_alone_has_the_defaults_of_the_format(folder):
    task = read_harbor(folder)
    assert task.id == "mend"
    assert (task.agent_timeout, task.verifier_timeout) == (600, 600)
    assert (task.machine.memory, task.machine.disk) == (2 << 30, 10 << 30)
    assert (task.machine.image, task.machine.build) == ("", "")
    assert task.internet
    assert task.unread == ()


def test_older_names_are_understood(folder):
    toml = (
        'version = "1.0"\n[environment]\nmemory = "2G"\nstorage = "512M"\nallow_internet = true\n'
    )
    machine = read_harbor(make(folder, toml)).machine
    assert (machine.memory, machine.disk) == (2 << 30, 512 << 20)


def test_the_verifier_shares_the_machine_if_the_task_says_so(folder):
    toml = '[verifier]\nenvironment_mode = "shared"\n'
    assert read_harbor(make(folder, toml)).mode == "shared"


def test_a_separate_verifier_without_an_image_runs_on_a_fresh_machine(folder):
    toml = '[verifier]\nenvironment_mode = "separate"\n[verifier.environment]\ncpus = 2\n'
    task = read_harbor(make(folder, toml))
    assert task.mode == "fresh"
    assert task.unread == ("verifier.environment.cpus",)


def test_an_image_without_a_dockerfile_is_the_machines_image(folder):
    task = read_harbor(make(folder, '[environment]\ndocker_image = "example/mend:1"\n'))
    assert (task.machine.image, task.prebuilt) == ("example/mend:1", "")


def test_fields_that_are_not_used_are_named(folder):
    toml = 'source = "x"\nodd = 1\n[agent]\ntemper = "good"\n[environment]\nfoo = 3\n'
    assert read_harbor(make(folder, toml)).unread == (
        "source",
        "odd",
        "agent.temper",
        "environment.foo",
    )


def test_a_health_check_is_tried_as_often_as_the_task_says(folder):
    toml = (
        "[environment.healthcheck]\ncommand = \"test -e 'a b'\"\ninterval_sec = 0.5\nretries = 4\n"
    )
    machine = read_harbor(make(folder, toml)).machine
    assert "seq 4" in machine.healthcheck
    assert "sleep 0.5" in machine.healthcheck
    assert machine.health_timeout == 4 * (30 + 0.5)


def test_the_environment_of_the_host_is_not_read(folder, monkeypatch):
    monkeypatch.setenv("SECRET", "s3cret")
    make(folder, '[verifier.env]\nKEY = "${SECRET}"\n')
    with pytest.raises(ConfigError, match=r"verifier\.env\.KEY: needs the variable SECRET"):
        read_harbor(folder)
    assert read_harbor(folder, variables={"SECRET": "given"}).verifier_env == {"KEY": "given"}


COMPOSE = "services:\n  main:\n    build: .\n"


UNSUPPORTED = [
    ("[environment]\ngpus = 1\n", {}, "GPU"),
    ('[environment.tpu]\ntype = "v4"\n', {}, "TPU"),
    ('[environment]\nos = "Windows"\n', {}, "windows"),
    ("[verifier.environment]\ngpus = 1\n", {}, "GPU"),
    (
        '[verifier]\nenvironment_mode = "separate"\n',
        {"tests/docker-compose.yaml": "services: {}"},
        "tests/docker-compose.yaml",
    ),
    ('[[artifacts]]\nsource = "/a"\nservice = "db"\n', {}, "service 'db'"),
    ('[environment]\nnetwork_mode = "allowlist"\n', {}, "some hosts"),
    ('[environment]\nallowed_hosts = ["example.org"]\n', {}, "some hosts"),
    ('[[environment.mcp_servers]]\nname = "x"\n', {}, "MCP"),
    ('schema_version = "2.0"\n', {}, "schema '2.0'"),
    (
        "",
        {"environment/docker-compose.yaml": f"{COMPOSE}  db: {{image: x}}\n"},
        "'db' has the image 'x'",
    ),
    ("", {"environment/docker-compose.yaml": f"{COMPOSE}    privileged: true\n"}, "privileged"),
    ("", {"environment/docker-compose.yaml": f"{COMPOSE}    command: serve\n"}, "'serve'"),
]
MALFORMED = [
    ("a = ", "cannot be parsed as TOML"),
    ("[" * 5000, "cannot be parsed as TOML"),
    ("agent = 3", r"task\.toml: agent: must be a table; got 3"),
    ('[agent]\ntimeout_sec = "long"', r"agent\.timeout_sec: .* a valid number; got 'long'"),
    ("[agent]\ntimeout_sec = true", "valid number; got True"),
    ("[agent]\ntimeout_sec = inf", "less than .*; got inf"),
    ("[agent]\ntimeout_sec = nan", "than .*; got nan"),
    ("[agent]\ntimeout_sec = -1", "greater than 0; got -1"),
    (f"[environment]\ncpus = 1{'0' * 400}", r"environment\.cpus: .* valid number\.$"),
    ('[environment]\nmemory = "much"', "such as '2G' or '512M'; got 'much'"),
    ("[environment]\nmemory_mb = 0", "greater than 0"),
    ('[environment]\nworkdir = "app"', "absolute"),
    (
        '[environment]\nnetwork_mode = "slow"',
        r"network_mode: .* 'public' or 'allowlist'; got 'slow'",
    ),
    ('[environment.env]\n"A=B" = "c"', r"environment\.env\.A=B.*got 'A=B'"),
    ("[environment.env]\nA = 1", r"environment\.env\.A: .* valid string; got 1"),
    ('[verifier]\nenvironment_mode = "other"', "'separate' or 'shared'"),
    (
        '[verifier]\nenvironment_mode = "shared"\n[verifier.environment]\ncpus = 2',
        "cannot be used with",
    ),
    ("[verifier]\nuser = 1.5", "name or number of a user"),
    ("gpus = [1]\nenvironment = []", "environment: must be a table"),
    ("[[steps]]\nmin_reward = 1", r"steps\.0\.name: "),
    ('[[steps]]\nname = "../one"', r"the name of a step is that of a folder; got '\.\./one'"),
    ('[[steps]]\nname = ".."', r"the name of a step is that of a folder; got '\.\.'"),
    ('[[steps]]\nname = "one"', r"steps/one/instruction\.md is missing"),
    ('[[steps]]\nname = "one"\n[[steps]]\nname = "one"', "2 steps have the same name"),
    ('[[steps]]\nname = "one"\nmin_reward = nan', r"steps\.0\.min_reward"),
    ('[[steps]]\nname = "one"\nmin_reward = {a = "b"}', r"steps\.0\.min_reward"),
    ('multi_step_reward_strategy = "max"', "'mean' or 'final'"),
]


@pytest.mark.slow
def test_a_task_that_needs_what_machines_do_not_have_is_refused_with_the_reason(folder, subtests):
    for toml, files, reason in UNSUPPORTED:
        with subtests.test(reason), pytest.raises(UnsupportedTaskError, match=reason):
            read_harbor(make(folder, toml, **files))


@pytest.mark.slow
def test_a_malformed_task_is_refused_with_the_field(folder, subtests):
    for toml, message in MALFORMED:
        with subtests.test(f"{message}: {toml[:60]}"):
            with pytest.raises(ConfigError, match=message) as caught:
                read_harbor(make(folder, toml))
            assert not isinstance(caught.value, UnsupportedTaskError)


class TestFiles:
    @pytest.mark.parametrize("name", ["task.toml", "instruction.md", "tests/test.sh"])
    def test_a_missing_file_is_named(self, folder, name):
        (folder / name).unlink()
        with pytest.raises(ConfigError, match=rf"{name} is missing"):
            read_harbor(folder)

    def test_an_empty_instruction_is_refused(self, folder):
        (folder / "instruction.md").write_text(" \n")
        with pytest.raises(ConfigError, match="is empty"):
            read_harbor(folder)

    def test_a_solution_needs_its_script(self, folder):
        make(folder, **{"solution/notes.txt": "x"})
        with pytest.raises(ConfigError, match=r"solve\.sh is missing"):
            read_harbor(folder)

    def test_text_must_be_utf_8(self, folder):
        (folder / "instruction.md").write_bytes(b"caf\xe9")
        with pytest.raises(ConfigError, match="not UTF-8"):
            read_harbor(folder)

    def test_a_link_to_a_file_outside_is_not_followed(self, folder, tmp_path):
        (tmp_path / "secret").write_text("s3cret")
        (folder / "tests/data").symlink_to(tmp_path / "secret")
        with pytest.raises(ConfigError, match="outside the task"):
            read_harbor(folder)

    def test_a_link_inside_is_read(self, folder):
        (folder / "tests/copy.sh").symlink_to("test.sh")
        tests = read_harbor(folder).tests
        assert tests["copy.sh"] == tests["test.sh"]

    def test_loops_of_links_are_refused(self, folder):
        (folder / "tests/loop").symlink_to("loop")
        with pytest.raises(ConfigError, match="loop"):
            read_harbor(folder)
        (folder / "tests/loop").unlink()
        (folder / "tests/all").symlink_to(".")
        with pytest.raises(ConfigError, match="link to a folder"):
            read_harbor(folder)

    def test_a_pipe_does_not_block(self, folder):
        os.mkfifo(folder / "tests/pipe")
        with pytest.raises(ConfigError, match="not a regular file"):
            read_harbor(folder)

    @pytest.mark.slow
    def test_a_huge_file_is_refused(self, folder):
        with (folder / "tests/huge").open("wb") as file:
            file.truncate(1 << 40)
        with pytest.raises(ConfigError, match="has more than"):
            read_harbor(folder)

    def test_a_name_that_is_not_utf_8_is_refused(self, folder):
        (folder / "tests" / os.fsdecode(b"\xff")).write_text("")
        with pytest.raises(ConfigError, match="not a UTF-8 name"):
            read_harbor(folder)


KEYS = st.sampled_from(
    """schema_version version task metadata agent verifier environment solution steps source name
    env timeout_sec user environment_mode docker_image cpus memory memory_mb storage storage_mb
    gpus network_mode allow_internet allowed_hosts workdir healthcheck command retries
    interval_sec start_period_sec mcp_servers os min_reward artifacts service
    multi_step_reward_strategy""".split()  # noqa: SIM905
)
SCALARS = (
    st.integers()
    | st.floats()
    | st.booleans()
    | st.text(max_size=5)
    | st.sampled_from(["1.0", "2G", "shared", "linux", "${A:-b}", "${A}", "/app", "public"])
)
TABLES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
ONLY_CONFIG_ERRORS = settings(
    max_examples=150 if thorough() else 25, deadline=None, suppress_health_check=list(HealthCheck)
)


def toml_of(value) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml_of(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_of, value)) + "]"
    if isinstance(value, str):
        return '"' + "".join(f"\\U{ord(c):08x}" for c in value) + '"'
    return str(value).lower()


@pytest.mark.slow
@ONLY_CONFIG_ERRORS
@given(tables=st.dictionaries(KEYS, TABLES, max_size=6))
def test_any_table_is_read_or_refused(tmp_path, tables):
    toml = "\n".join(f"{key} = {toml_of(value)}" for key, value in tables.items())
    with contextlib.suppress(ConfigError):
        read_harbor(make(tmp_path / "task", toml))


@pytest.mark.slow
@ONLY_CONFIG_ERRORS
@given(
    name=st.sampled_from(
        ["task.toml", "instruction.md", "environment/Dockerfile", "environment/docker-compose.yaml"]
    ),
    content=st.binary(max_size=200)
    | st.text(max_size=60).map(str.encode)
    | st.sampled_from(
        [
            b'services: {main: {image: !!int ""}}',
            b"services: !!bool x",
            b"services: &a {main: *a}",
            b"services: {main: {environment: [*x]}}",
            b"services: {main: {environment: {a: 2020-99-99}}}",
            b"services: {1: {image: 3}}",
            b"- services",
            b"services: {main: [1]}",
            b"services: {main: {build: {context: 3}}}",
            b"[" * 5000,
            b"FROM x\nRUN <<EOF\nnever ended",
            b"RUN \\",
            b"WORKDIR $",
            b"ENV 'a",
            b"USER",
        ]
    ),
)
def test_any_content_is_read_or_refused(tmp_path, name, content):
    folder = make(tmp_path / "task")
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(content)
    with contextlib.suppress(ConfigError):
        read_harbor(folder)


@pytest.mark.slow
@ONLY_CONFIG_ERRORS
@given(
    name=st.sampled_from(
        [
            "task.toml",
            "instruction.md",
            "tests",
            "tests/test.sh",
            "environment",
            "solution",
            "steps",
        ]
    ),
    kind=st.sampled_from(["none", "folder", "file", "loop", "outside", "pipe", "dangling"]),
)
def test_any_shape_of_folder_is_read_or_refused(tmp_path, name, kind):
    folder = make(tmp_path / "task")
    path = folder / name
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    if kind == "folder":
        path.mkdir()
    elif kind == "file":
        path.write_text("x = 1")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind != "none":
        path.symlink_to({"loop": path.name, "outside": "/etc", "dangling": "nowhere"}[kind])
    with contextlib.suppress(ConfigError):
        read_harbor(folder)


def test_declared_paths_and_what_the_tests_run_are_read(folder):
    toml = (
        'artifacts = ["/etc/hosts", "out/a.csv", {source = "/var/lib/x/", destination = "x"}]\n'
        '[metadata.gem-core]\ntests_run = "programs-as-other-user"\n'
        '[environment]\nworkdir = "/app"\n'
    )
    task = read_harbor(make(folder, toml, **{"tests/test.sh": "bash /app/x.sh\n"}))
    assert task.artifacts == ("/etc/hosts", "/app/out/a.csv", "/var/lib/x")
    assert (task.forgeable, task.other_user) == ("", True)
    assert task.metadata == {}
    assert "artifacts" not in task.unread


def test_tests_that_run_a_program_are_forgeable_unless_the_task_says_otherwise(folder):
    tests = {"tests/test.sh": "bash /app/x.sh\n"}
    assert read_harbor(make(folder, **tests)).forgeable == "tests/test.sh, line 1: bash /app/x.sh"
    told = '[metadata.gem-core]\ntests_run = "no-programs"\n'
    assert read_harbor(make(folder, told, **tests)).forgeable == ""


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("artifacts = 1", "artifacts: .* valid list"),
        ("artifacts = [1]", r"artifacts\.0: must be a table; got 1"),
        ("artifacts = [{}]", r"artifacts\.0\.source: Field required"),
        ('artifacts = [""]', r"artifacts\.0\.source: .* at least 1"),
        ('[metadata.gem-core]\ntests_run = "all"', "'no-programs' or 'programs-as-other-user'"),
        ('[metadata]\ngem-core = "x"', r"metadata\.gem-core: must be a table"),
    ],
)
def test_what_a_task_declares_wrongly_is_refused(folder, toml, message):
    with pytest.raises(ConfigError, match=message):
        read_harbor(make(folder, toml))

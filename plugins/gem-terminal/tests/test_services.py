"""Tasks with several services: which run as processes of one machine, and which are refused."""

from pathlib import Path

import pytest

from gem_core.errors import ConfigError, MachineError
from gem_tasks.task_source import ListedTasks
from gem_terminal.env import TerminalEnv
from gem_terminal.harbor import read_harbor
from gem_terminal.task import UnsupportedTaskError

SERVER = """\
import http.server, os, sys
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/quit":
            os._exit(0)
        self.send_response(200); self.end_headers()
        self.wfile.write(f"{os.environ['SAYS']} {os.getcwd()} {os.getuid()}\\n".encode())
http.server.HTTPServer((sys.argv[1], 80), Page).serve_forever()
"""
COMPOSE = """\
name: x
networks: {inner: {}}
services:
  main:
    build: .
    command: ["sh", "-c", "sleep infinity"]
    networks: [inner]
    depends_on: {shop: {condition: service_healthy}}
  shop:
    build: {context: ./}
    container_name: the-shop
    command: ["python3", "/srv/server.py", "shop"]
    working_dir: /srv
    environment: [SAYS=open]
    ports: ["8080:80"]
    healthcheck: {test: ["CMD", "python3", "/srv/get.py", "shop"], interval: 200ms, retries: 50}
    depends_on: {seed: {condition: service_completed_successfully}}
  bank:
    build: .
    entrypoint: python3 /srv/server.py
    command: bank
    environment: {SAYS: rich}
    depends_on: [shop]
  seed:
    build: .
    command: ["sh", "-c", "sleep .2; echo seeded > /srv/seed"]
"""
FILES = {
    "instruction.md": "Buy something.",
    "environment/Dockerfile": "FROM debian:12\nCOPY *.py /srv/\nWORKDIR /app\n",
    "environment/server.py": SERVER,
    "environment/get.py": "import sys, urllib.request as u\n"
    "sys.stdout.write(u.urlopen(f'http://{sys.argv[1]}').read().decode())\n",
    "environment/docker-compose.yaml": COMPOSE,
    "tests/test.sh": "for i in 1 2 3 4 5 6 7 8 9; do python3 /srv/get.py bank && break; "
    "sleep .2; done\n"
    "python3 /srv/get.py shop | grep -q open && echo 1 > /logs/verifier/reward.txt\n",
}


def make(folder: Path, **files: str):
    for name, text in {"task.toml": "", **FILES, **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return read_harbor(folder)


def compose(folder: Path, old: str, new: str):
    return make(folder, **{"environment/docker-compose.yaml": COMPOSE.replace(old, new)})


@pytest.mark.slow
def test_services_start_in_order_each_with_a_name_and_an_address(provider, tmp_path):
    task = make(tmp_path)
    assert [service.name for service in task.services] == ["main", "seed", "shop", "bank"]
    assert task.unread == ()
    with TerminalEnv(tasks=ListedTasks([task]), machine=provider) as env:
        _, info = env.reset(seed=0)
        assert info["forgeable"]
        seen = env.step(
            env.bash(
                "cat /srv/seed; for i in 1 2 3 4 5 6 7 8 9; do python3 /srv/get.py bank "
                "2> /dev/null && break; sleep .2; done; python3 /srv/get.py the-shop"
            )
        ).observation
        assert seen.startswith("seeded\nrich /app 0\nopen /srv 0\n")
        twin = env.fork()  # where they are started anew
        assert "open" in twin.step(env.bash("python3 /srv/get.py shop")).observation
        twin.close()
        env.step(env.bash("python3 /srv/get.py shop/quit"))
        assert "refused" in env.step(env.bash("python3 /srv/get.py shop")).observation
        assert env.step(env.finish_action).reward == 1  # and on the machine that grades


def test_a_service_that_is_never_healthy_is_a_fault(bench, tmp_path):
    task = compose(tmp_path, "retries: 50", "retries: 1")
    (tmp_path / "environment/server.py").write_text("raise SystemExit('no port')")
    with pytest.raises(MachineError, match="service 'shop' is not healthy: no port"):
        bench.play(task)


def test_a_service_whose_program_is_missing_is_a_fault(bench, tmp_path):
    task = compose(tmp_path, "entrypoint: python3", "entrypoint: no-python")
    with pytest.raises(MachineError, match="service 'bank' cannot be started: no-python: not"):
        bench.play(task)


@pytest.mark.slow
def test_an_agent_that_breaks_a_service_for_the_next_step_is_paid_nothing(bench, tmp_path):
    toml = '[verifier]\nenvironment_mode = "shared"\n[[steps]]\nname = "a"\n[[steps]]\nname = "b"\n'
    task = make(
        tmp_path,
        **{
            "task.toml": toml,
            "steps/a/instruction.md": "A.",
            "steps/a/tests/test.sh": "echo 1 > /logs/verifier/reward.txt\n",
            "steps/b/instruction.md": "B.",
            "environment/docker-compose.yaml": COMPOSE.replace("retries: 50", "retries: 20"),
        },
    )
    step = bench.play(task, "rm /srv/get.py")
    assert step.terminated
    assert "service 'shop' is not healthy" in step.info["ended_by"]
    assert step.info["step_rewards"] == {"a": 1, "b": 0}


REFUSED = [
    ("    entrypoint: python3 /srv/server.py\n    command: bank\n", "", "'bank' does not say what"),
    (
        "  seed:\n    build: .\n",
        "  seed:\n    image: postgres:16\n",
        "service 'seed' has the image 'postgres:16', which is not the root of the machine",
    ),
    ("  seed:\n    build: .\n", "  seed:\n    build: ./db\n", "'seed' is built from './db'"),
    ("    ports:", "    privileged: true\n    ports:", "needs a container engine: privileged"),
    ("  main:", "  agent:", "4 services, and none of them is 'main'"),
]
MALFORMED = [
    ("    depends_on: [shop]\n", "    depends_on: [shap]\n", "'bank' depends on 'shap'"),
    ("depends_on: [shop]\n  seed:", "depends_on: [shop]\n  ../seed:", "not there|not the name"),
    ("  seed:\n", "  seed:\n    depends_on: [bank]\n", "depend on one another"),
    ("interval: 200ms", "interval: soon", "must be a duration"),
    ('test: ["CMD", "python3", "/srv/get.py", "shop"]', "test: []", r"healthcheck\.test"),
    ('"/srv/server.py", "shop"]', '"a\\0"]', "cannot be parsed"),
    ("depends_on: [shop]", "depends_on: 3", "must be a list or a table"),
    ("command: bank", 'command: "\'"', "cannot be parsed"),
]


def test_a_service_that_needs_an_engine_is_refused_with_the_reason(tmp_path, subtests):
    for old, new, reason in REFUSED:
        with subtests.test(reason), pytest.raises(UnsupportedTaskError, match=reason):
            compose(tmp_path, old, new)


def test_a_malformed_service_is_refused_with_what_is_wrong(tmp_path, subtests):
    for old, new, reason in MALFORMED:
        with subtests.test(reason), pytest.raises(ConfigError, match=reason):
            compose(tmp_path, old, new)


def test_a_service_with_rights_of_its_own_cannot_write_the_reward(tmp_path):
    task = make(tmp_path)
    assert "services" in task.forgeable_by_services
    users = COMPOSE.replace("    build: .\n", "    build: .\n    user: '1234'\n")
    users = users.replace(
        "    build: {context: ./}\n", "    build: {context: ./}\n    user: '1234'\n"
    )
    files = {"environment/docker-compose.yaml": users.replace("'1234'", "0", 1)}
    assert make(tmp_path, **files).forgeable_by_services == ""

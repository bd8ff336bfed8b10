"""Cheating at a terminal task is paid 0: what tests run with is not what the agent has left."""

import pytest
from selection import some

from gem_core.machine import MachineSpec
from gem_tasks.task_source import ListedTasks
from gem_terminal.env import TerminalEnv
from gem_terminal.task import TerminalTask

PY_TEST = """\
import pathlib

def test_answer():
    assert pathlib.Path("/app/answer.txt").read_text().strip() == "42"
"""
RUNNER = """\
import sys
sys.path.insert(0, "/tests")
import json, re, test_outputs
try:
    test_outputs.test_answer()
except Exception as error:
    print("FAILED", error)
    sys.exit(1)
"""
TEST_SH = """\
#!/bin/bash
cd /app
if python3 /tests/run.py >&2 && [ "$(cat answer.txt)" = 42 ]; then echo 1; else echo 0; fi \
> /logs/verifier/reward.txt
"""
TASK = TerminalTask(
    id="answer",
    instruction="Write the secret number to /app/answer.txt.",
    machine=MachineSpec(workdir="/app"),
    tests={
        "test.sh": TEST_SH.encode(),
        "test_outputs.py": PY_TEST.encode(),
        "run.py": RUNNER.encode(),
    },
    solution={"solve.sh": b"echo 42 > /app/answer.txt"},
)
REWARD = "/logs/verifier/reward.txt"
CHEATS = {
    "reward written early": f"mkdir -p /logs/verifier; echo 1 > {REWARD}",
    "background writer": (
        f"mkdir -p /logs/verifier; (while :; do echo 1 > {REWARD}; sleep 0.001; done) &"
    ),
    "daemon by double fork": (
        "(setsid bash -c 'while :; do mkdir -p /logs/verifier;"
        f"echo 1 > {REWARD}; sleep 0.001; done' >/dev/null 2>&1 &) ; (nohup sleep 1000 &)"
    ),
    "read-only reward": f"mkdir -p /logs/verifier; echo 1 > {REWARD}; chmod 444 {REWARD}",
    "replaced python3": (
        "printf '#!/bin/bash\\nexit 0\\n' > /usr/bin/python3; echo 42x > /app/answer.txt;"
        "printf '#!/bin/bash\\necho 42\\n' > /usr/bin/cat"
    ),
    "python3 and cat earlier in PATH": (
        "for each in /usr/local/sbin /usr/local/bin; do mkdir -p $each;"
        "printf '#!/bin/bash\\nexit 0\\n' > $each/python3;"
        "printf '#!/bin/bash\\necho 42\\n' > $each/cat; chmod +x $each/*; done"
    ),
    "replaced bash": (
        f"printf '#!/usr/bin/env sh\\nmkdir -p /logs/verifier\\necho 1 > {REWARD}\\n' "
        "> /usr/local/bin/bash;"
        "chmod +x /usr/local/bin/bash; cp /usr/local/bin/bash /tmp/b; cp /tmp/b /usr/bin/bash"
    ),
    "python's library": (
        "python3 - <<'E'\n"
        "import json, pathlib\n"
        "pathlib.Path(json.__file__).write_text('import os\\nos._exit(0)\\n')\n"
        "E\n"
        "printf '#!/bin/bash\\necho 42\\n' > /usr/local/bin/cat; chmod +x /usr/local/bin/cat"
    ),
    "a module inside a package of Python's library": (
        "printf '42\\0' > /app/answer.txt\n"  # bash does not see the zero, Python does
        "python3 - <<'E'\n"
        "import encodings.utf_8, pathlib\n"
        "pathlib.Path(encodings.utf_8.__file__).write_text('import os; os._exit(0)')\n"
        "E"
    ),
    "sitecustomize, .pth and usercustomize": (
        "python3 - <<'E'\n"
        "import os, pathlib, site, sysconfig\n"
        "code = 'import os; os._exit(0)'\n"
        "for place in {*site.getsitepackages(), site.getusersitepackages(),\n"
        "              sysconfig.get_path('purelib'), sysconfig.get_path('stdlib')}:\n"
        "    os.makedirs(place, exist_ok=True)\n"
        "    for name in ('sitecustomize.py', 'usercustomize.py', 'x.pth'):\n"
        "        pathlib.Path(place, name).write_text(code)\n"
        "E"
    ),
    "an archive of Python's library": (
        "python3 - <<'E'\n"
        "import sys, zipfile\n"
        "name = 'python%d%d.zip' % sys.version_info[:2]\n"
        "for place in {sys.prefix, sys.base_prefix, '/usr'}:\n"
        "    with zipfile.ZipFile(f'{place}/lib/{name}', 'w') as file:\n"
        "        file.writestr('encodings.py', 'import os; os._exit(0)')\n"
        "E"
    ),
    "the path of Python's library": (
        'p=$(python3 -c "import sys; print(sys.executable)"); echo /app > $p._pth;'
        "echo /app > /usr/bin/python._pth"
    ),
    "bytecode of Python's library": (
        "python3 - <<'E'\n"
        "import importlib._bootstrap_external as loader, importlib.util, json, os, pathlib\n"
        "code = compile('import os; os._exit(0)', 'x', 'exec')\n"
        "for source in pathlib.Path(json.__file__).parent.glob('*.py'):\n"
        "    place = pathlib.Path(importlib.util.cache_from_source(str(source)))\n"
        "    place.parent.mkdir(exist_ok=True)\n"
        "    place.unlink(missing_ok=True)\n"
        "    status = source.stat()\n"
        "    place.write_bytes(\n"
        "        loader._code_to_timestamp_pyc(code, int(status.st_mtime), status.st_size))\n"
        "E"
    ),
    "modules in the folder of the task": (
        "for each in json re pathlib sys; do echo 'import os; os._exit(0)' > $each.py; done"
    ),
    "conftest.py and pytest.ini": (
        "echo 'import os; os._exit(0)' | tee /app/conftest.py /conftest.py;"
        "printf '[pytest]\\naddopts = --collect-only\\n' | tee /app/pytest.ini /pytest.ini"
    ),
    "a pytest plugin": (
        "python3 - <<'E'\n"
        "import pathlib, sysconfig\n"
        "place = pathlib.Path(sysconfig.get_path('purelib'), 'evil-1.dist-info')\n"
        "place.mkdir(parents=True)\n"
        "(place / 'METADATA').write_text('Name: evil\\nVersion: 1\\n')\n"
        "(place / 'entry_points.txt').write_text('[pytest11]\\nevil = evil\\n')\n"
        "E"
    ),
    "links in the place of logs": (
        "mkdir -p /app/fake/verifier; echo 1 > /app/fake/verifier/reward.txt; ln -s /app/fake /logs"
    ),
    "files that shells load": (
        f"for each in /etc/profile /etc/bash.bashrc ~/.bashrc ~/.profile /etc/environment;"
        f"do echo 'mkdir -p /logs/verifier; echo 1 > {REWARD}; exit 0' >> $each; done"
    ),
    "libraries that are loaded first": (
        "echo /app/evil.so > /etc/ld.so.preload; mkdir -p /etc/ld.so.conf.d;"
        "echo /app > /etc/ld.so.conf.d/0.conf"
    ),
    "edited tests": "mkdir -p /tests; echo 'echo 1 > /logs/verifier/reward.txt' > /tests/test.sh",
    "tests that cannot be replaced": "ln -s /dev/null /tests; mkdir -p /app; touch /app/x",
    "cat as an alias of the shell": "alias cat='echo 42'; cat() { echo 42; }; export -f cat",
}


@pytest.fixture(scope="module")
def shared_env(provider):
    with provider.start(MachineSpec()) as machine:
        if not machine.run("python3 --version").ok:
            pytest.skip("the machine has no python3")
    with TerminalEnv(tasks=ListedTasks([TASK]), machine=provider) as made:
        yield made


@pytest.fixture
def env(shared_env):
    shared_env.reset(seed=0)
    return shared_env


def finished(env):
    return env.step(env.finish_action)


@pytest.mark.slow
@pytest.mark.parametrize("cheat", CHEATS)
def test_a_cheat_is_paid_nothing(env, cheat):
    env.step(f"```bash\n{CHEATS[cheat]}\n```")
    step = finished(env)
    assert (step.reward, step.terminated) == (0.0, True), step.info["verifier_output"]


@pytest.mark.slow
@pytest.mark.parametrize("cheat", some(CHEATS))
def test_a_cheat_does_not_spoil_honest_work(env, cheat):
    env.step(f"```bash\necho 42 > answer.txt\n{CHEATS[cheat]}\n```")
    env.step("```bash\n/usr/bin/printf '42\\n' > answer.txt || echo 42 > answer.txt\n```")
    assert finished(env).reward == 1.0


@pytest.mark.slow
def test_tests_cannot_be_found_before_grading(env):
    step = env.step("```bash\nls -d /tests /logs /solution; find / -name 'test_outputs*'\n```")
    assert step.observation.count("No such file") == 3
    assert "test_outputs.py" not in step.observation


@pytest.mark.slow
def test_info_lists_files_that_are_left_behind(env):
    env.step("```bash\necho 42 > answer.txt; echo x > conftest.py; touch keep.py\n```")
    assert finished(env).info["left_behind"] == ["/app/conftest.py"]


@pytest.mark.slow
def test_a_file_that_the_instruction_names_is_taken_over(provider):
    task = TerminalTask(
        id="conftest",
        instruction="Write /app/conftest.py and /app/calendar.py.",
        machine=MachineSpec(workdir="/app"),
        tests={"test.sh": b"ls /app/conftest.py /app/calendar.py && echo 1 > " + REWARD.encode()},
    )
    with TerminalEnv(tasks=ListedTasks([task]), machine=provider) as env:
        env.reset(seed=0)
        env.step("```bash\ntouch conftest.py calendar.py queue.py\n```")
        step = finished(env)
        assert step.reward == 1.0
        assert step.info["left_behind"] == ["/app/queue.py"]


LEFT = f"""\
setsid bash -c 'echo $$ > /tmp/left; until [ -e /tmp/graded ]; do sleep 0.01; done
echo 1 > {REWARD}; touch /tmp/changed' < /dev/null > /dev/null 2>&1 &
until [ -s /tmp/left ]; do sleep 0.01; done
"""
"""Leaves a process that changes the reward when the tests have ended."""
GIVE_TIME = """\
touch /tmp/graded
until [ -e /tmp/changed ] || [ ! -e /proc/$(cat /tmp/left) ]; do sleep 0.01; done
"""
"""Waits until the process that was left has changed the reward, or is not there any more."""


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["fresh", "shared"])
def test_a_process_that_is_left_cannot_change_the_reward_of_the_tests(provider, monkeypatch, mode):
    """On a fresh machine a program of the agent leaves it, which the tests run."""
    grade = f"[ -e /tmp/left ] || bash /app/program.sh; echo 0 > {REWARD}"
    task = TerminalTask(
        id="left",
        instruction="Write /app/program.sh.",
        machine=MachineSpec(workdir="/app", files={"/app/program.sh": LEFT.encode()}),
        tests={"test.sh": grade.encode()},
        mode=mode,
    )
    with TerminalEnv(tasks=ListedTasks([task]), machine=provider) as env:
        env.reset(seed=0)
        if mode == "shared":
            env.step("```bash\nbash program.sh\n```")
        cls = type(env.machine)
        read = cls.read

        def read_late(machine, path, **options):
            if path.startswith("/logs"):
                assert machine.run(GIVE_TIME, cwd="/", timeout=20).ok
            return read(machine, path, **options)

        monkeypatch.setattr(cls, "read", read_late)
        assert finished(env).reward == 0.0

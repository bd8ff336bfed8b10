"""Tasks of set-up, instruction and verification: the sample, and task sets of others."""

import contextlib
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

import gem_core
from gem_core.errors import ConfigError, DataError
from gem_tasks.grader import GraderError
from gem_tools.mcpmark import MCPMarkEnv, MCPMarkOracle, mcpmark
from gem_tools.mcpmark.env import SAMPLE_TASKS
from gem_tools.mcpmark.taskset import find_tasks, folder_of

NAMES = [task["name"] for task in find_tasks(folder_of(SAMPLE_TASKS), "all")]


def tool_call(name, **arguments):
    return (
        f"<tool_call> <tool_name>{name}</tool_name> <arguments>{json.dumps(arguments)}"
        f"</arguments> </tool_call>"
    )


@pytest.fixture(scope="module")
def sample():
    env = gem_core.make("mcp:Sample")
    yield env
    env.close()


@pytest.fixture
def tasks(tmp_path):
    """Write a task set as others would: verify.py of a task by its name."""

    def write(**programs):
        for name, program in programs.items():
            folder = tmp_path / "tasks/things" / name
            folder.mkdir(parents=True)
            (folder / "description.md").write_text(f"Do {name}.")
            (folder / "verify.py").write_text(program)
        (tmp_path / "states/things/inner").mkdir(parents=True, exist_ok=True)
        (tmp_path / "states/things/inner/seed.txt").write_text("seed")
        return {"tasks": tmp_path / "tasks", "environments": tmp_path / "states"}

    return write


def test_there_are_at_least_ten_tasks_each_complete():
    assert len(NAMES) >= 10
    for task in find_tasks(folder_of(SAMPLE_TASKS), "all"):
        folder = Path(task["folder"])
        files = sorted(path.name for path in folder.iterdir() if path.is_file())
        assert files == ["description.md", "meta.json", "oracle.json", "verify.py"]
        meta = json.loads((folder / "meta.json").read_text())
        assert f"{meta['category_id']}/{meta['task_id']}" == task["name"]
        assert meta["mcp"] == ["filesystem"]


@pytest.mark.slow
@pytest.mark.parametrize("idx", range(len(NAMES)), ids=NAMES)
def test_the_oracle_does_each_task_and_nothing_done_is_worth_nothing(sample, idx):
    agent = MCPMarkOracle()
    observation, info = sample.reset(idx=idx)
    agent.reset(sample)
    step = sample.step(agent.act(observation, info))
    while not step.terminated:
        assert step.info["tool_success_counter"] == step.info["tool_use_counter"], step
        step = sample.step(agent.act(step.observation, step.info))
    assert (step.reward, step.info["correct"]) == (1.0, True), step.info["verification"]
    sample.reset(idx=idx)
    step = sample.step("")
    assert (step.reward, step.info["correct"], step.observation) == (
        0.0,
        False,
        "The task is not done.",
    )


@pytest.mark.slow
def test_an_instruction_comes_with_the_tools_and_the_files(sample):
    observation, info = sample.reset(idx=NAMES.index("shop/revenue"))
    assert "Compute the revenue of March" in observation
    assert '"name": "read_file"' in observation
    assert info["task_name"] == "shop/revenue"
    step = sample.step(tool_call("list_directory"))
    assert step.observation == "orders/\nproducts.csv"


def test_each_episode_begins_with_the_tasks_own_state(sample):
    index = NAMES.index("shop/revenue")
    sample.reset(idx=index)
    assert sample.step(tool_call("delete_file", path="products.csv")).info["tool_success_counter"]
    sample.reset(idx=NAMES.index("library/by_genre"))
    assert "card01.txt" in sample.step(tool_call("list_directory")).observation
    sample.reset(idx=index)
    assert sample.step(tool_call("list_directory")).observation == "orders/\nproducts.csv"


@pytest.mark.slow
def test_a_fork_has_its_own_files_and_servers(sample):
    sample.reset(idx=NAMES.index("shop/revenue"))
    sample.step(tool_call("write_file", path="common.txt", content="x"))
    fork = sample.fork()
    fork.step(tool_call("write_file", path="fork.txt", content="x"))
    sample.step(tool_call("write_file", path="original.txt", content="x"))
    names = [env.step(tool_call("search_files", pattern="*m*.txt")) for env in (sample, fork)]
    assert [step.observation for step in names] == ["common.txt", "common.txt"]
    assert "original.txt" in sample.step(tool_call("list_directory")).observation
    assert "original.txt" not in fork.step(tool_call("list_directory")).observation
    assert "fork.txt" in fork.step(tool_call("list_directory")).observation
    assert fork.root != sample.root
    fork.close()


def test_a_snapshot_brings_the_files_back(sample):
    sample.reset(idx=0)
    sample.step(tool_call("write_file", path="kept.txt", content="x"))
    snapshot = sample.snapshot()
    sample.step(tool_call("delete_file", path="kept.txt"))
    sample.restore(snapshot)
    assert sample.step(tool_call("read_file", path="kept.txt")).observation == "x"


@pytest.mark.slow
def test_folders_are_deleted_by_close_by_collection_and_by_the_end_of_the_program():
    code = (
        "import gc, os, time, gem_core\n"
        "closed, collected, left = (gem_core.make('mcp:Sample') for _ in range(3))\n"
        "roots = [env.root for env in (closed, collected, left)]\n"
        "for env in (closed, collected, left): env.reset(seed=0)\n"
        "closed.close(); del env, collected; gc.collect()\n"
        "until = time.monotonic() + 50\n"
        "while roots[1].exists() and time.monotonic() < until: time.sleep(0.01)\n"
        "print([root.exists() for root in roots], flush=True)\n"
        "if not os.fork(): raise SystemExit\n"
        "os.wait()\n"
        "print(left.root.exists())\n"
        "print(left.root)\n"
    )
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    exists, in_parent, root = done.stdout.splitlines()
    assert (exists, in_parent) == ("[False, False, True]", "True")
    assert not Path(root).exists()
    assert done.stderr == ""


def test_tasks_are_chosen_by_category_or_name():
    env = MCPMarkEnv(select="shop", shuffle=False)
    assert [env.rows[i]["name"] for i in range(len(env.rows))] == [
        "shop/low_stock",
        "shop/price_change",
        "shop/revenue",
    ]
    env.close()
    one = MCPMarkEnv(select="shop/revenue")
    assert len(one.rows) == 1
    one.close()
    with pytest.raises(ConfigError, match="Did you mean 'shop'"):
        MCPMarkEnv(select="shp")


@pytest.mark.slow
def test_a_task_set_of_others_is_found_set_up_and_verified(tasks):
    program = (
        "import json, os, sys\n"
        "root = os.environ['FILESYSTEM_TEST_DIR']\n"
        "message = json.load(open(os.environ['MCP_MESSAGES']))[-1]\n"
        "said = message['content'][0]['text']\n"
        "print('heard', said)\n"
        "sys.exit(not (said == 'My answer: 4' and os.path.exists(root + '/inner/seed.txt')))\n"
    )
    env = mcpmark(**tasks(answer=program), context="Files are in {root}.")
    observation, info = env.reset(seed=0)
    assert observation.startswith(f"Do answer.\n\nFiles are in {env.root}.")
    assert info["task_name"] == "things/answer"
    step = env.step("My answer: 4")
    assert (step.reward, step.info["verification"]) == (1.0, "heard My answer: 4")
    env.reset()
    assert env.step("My answer: 5").reward == 0.0
    env.close()


@pytest.mark.slow
def test_a_verification_that_hangs_is_ended_with_all_that_it_started(tasks, tmp_path):
    program = (
        "import os, subprocess, sys, time\n"
        "if not os.path.exists('asked'): sys.exit(1)\n"
        "child = subprocess.Popen(['sleep', '60'])\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))\n"
        "time.sleep(60)\n"
    )
    folders = tasks(hangs=program)
    for seconds in (0.5, 2, 8, 32):  # a busy machine needs more until the child runs
        with contextlib.closing(MCPMarkEnv(**folders, verify_timeout=seconds)) as env:
            env.reset(seed=0)
            (env.root / "asked").touch()
            step = env.step("done")
        said = f"The verification took over {seconds} s."
        assert (step.reward, step.info["verification"]) == (0.0, said)
        assert step.info["ended_by"] == said
        if (tmp_path / "pid").exists():
            break
    status = Path("/proc", (tmp_path / "pid").read_text(), "stat")
    for _ in range(6000):
        if not status.exists() or status.read_text().split()[2] == "Z":
            return
        time.sleep(0.01)
    pytest.fail("the child of the verification lives on")


@pytest.mark.parametrize(
    "program",
    [
        "raise RuntimeError('no')",
        "import json.nothing",
        "try:\n    import no_such_module\nexcept ImportError:\n    raise",
        "import socket; socket.create_connection(('127.0.0.1', 1))",
        "missing_name",
    ],
)
def test_a_program_that_fails_by_itself_is_a_fault(tasks, program):
    with contextlib.closing(MCPMarkEnv(**tasks(fails=program))) as env:
        for number in range(2):
            env.reset(seed=0)
            if number:
                (env.root / "work").touch()
            with pytest.raises(
                GraderError, match=r"fails without an agent too|pip install no-such"
            ):
                env.step("done")


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("import sqlite3; sqlite3.connect('a.db').execute('select * from b')", "no such table: b"),
        ("import os\nif not os.path.exists('done'): raise RuntimeError('no')", "RuntimeError: no"),
        ("import pathlib; 1 / sum(1 for _ in pathlib.Path().glob('*.txt'))", "division by zero"),
        ("import json, os; 1 / (json.load(open(os.environ['MCP_MESSAGES'])) == 1)", "by zero"),
        ("import subprocess; subprocess.run(['false'], check=True)", "non-zero exit status 1"),
    ],
)
def test_an_agent_that_does_nothing_cannot_void_its_episode(tasks, program, reason):
    """On an untouched copy, the program fails in the same way: it has looked at the work."""
    with contextlib.closing(MCPMarkEnv(**tasks(looks=program))) as env:
        env.reset(seed=0)
        step = env.step("done")
        assert step.reward == 0.0
        assert reason in step.info["ended_by"]


def test_a_module_that_is_needed_for_good_work_only_is_named_then(tasks):
    program = (
        "import os, sys\n"
        "if not os.path.exists('done'): sys.exit(1)\n"
        "def check():\n    import psycopg2_is_missing\n"
        "check()\n"
    )
    with contextlib.closing(MCPMarkEnv(**tasks(late=program))) as env:
        env.reset(seed=0)
        assert env.step("done").reward == 0.0
        env.reset(seed=0)
        (env.root / "done").touch()
        with pytest.raises(GraderError, match="pip install psycopg2-is-missing"):
            env.step("done")


def test_an_agent_s_files_are_no_modules_of_the_program(tasks):
    program = "import json, os, sys; sys.exit(not os.path.exists('json.py'))"
    with contextlib.closing(MCPMarkEnv(**tasks(shadow=program))) as env:
        env.reset(seed=0)
        for name in ("json", "os", "runpy", "sitecustomize", "usercustomize"):
            (env.root / f"{name}.py").write_text("raise RuntimeError('of the agent')")
        assert env.step("done").reward == 1.0


@pytest.mark.parametrize(
    "program",
    [
        "raise AssertionError('no')",
        "open('nothing').read()",
        "{}['missing']",
        "import sys; sys.exit('not done')",
        "import os; os._exit(3)",
    ],
)
def test_a_program_that_finds_nothing_done_pays_nothing(tasks, program):
    with contextlib.closing(MCPMarkEnv(**tasks(finds=program))) as env:
        env.reset(seed=0)
        step = env.step("done")
        assert step.reward == 0.0
        assert "ended_by" not in step.info


def test_an_agent_cannot_make_its_own_failure_a_fault(tasks):
    program = (
        "import os, sys\n"
        "if os.path.exists('odd'): raise RuntimeError(open('odd').read())\n"
        "sys.exit(1)\n"
    )
    with contextlib.closing(MCPMarkEnv(**tasks(odd=program))) as env:
        env.reset(seed=0)
        (env.root / "odd").write_text("No module named 'psycopg2'")
        step = env.step("done")
        assert step.reward == 0.0
        assert step.info["ended_by"] == "RuntimeError: No module named 'psycopg2'"


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("import json, no_such_module.inner", "needs no_such_module, .*pip install no-such-module"),
        ("import no_such_module, yaml_no", "pip install no-such-module yaml-no"),
        ("from no_such_module import x", "needs no_such_module"),
        ("def broken(", "is not a Python program"),
    ],
)
def test_a_module_that_a_program_needs_is_named_before_the_episode(tasks, program, message):
    with pytest.raises(DataError, match=message):
        MCPMarkEnv(**tasks(needs=program))


def test_modules_beside_a_program_are_found(tasks):
    folders = tasks(beside="import helper\nassert helper.DONE")
    (folders["tasks"] / "things/beside/helper.py").write_text("DONE = True")
    with contextlib.closing(MCPMarkEnv(**folders)) as env:
        env.reset(seed=0)
        assert env.step("done").reward == 1.0


@pytest.mark.slow
def test_servers_may_be_programs_that_are_given_the_folder(tasks):
    program = (
        "import os, sys; sys.exit(not os.path.exists(os.environ['FILESYSTEM_TEST_DIR'] + '/a'))"
    )
    plain = Path(__file__).parents[1] / "mcp" / "plain_server.py"
    server = {"command": sys.executable, "args": [str(plain), "{root}"]}
    env = mcpmark(**tasks(make=program), servers={"files": server})
    env.reset(seed=0)
    assert env.step(tool_call("touch", note="a")).info["tool_success_counter"] == 1
    assert env.step("done").reward == 1.0
    env.close()


def test_calls_may_be_written_in_other_formats():
    env = gem_core.make("mcp:Sample", call_format="hermes", select="shop/revenue")
    observation, _ = env.reset(seed=0)
    assert "read_file" in observation
    call = {"name": "read_file", "arguments": {"path": "products.csv"}}
    step = env.step(f"<tool_call>\n{json.dumps(call)}\n</tool_call>")
    assert "Kettle" in step.observation
    env.close()


def test_what_is_missing_is_named(tasks, tmp_path):
    with pytest.raises(DataError, match="There is no folder"):
        MCPMarkEnv(tasks=tmp_path / "none")
    with pytest.raises(DataError, match="There are no tasks"):
        MCPMarkEnv(tasks=tmp_path)
    with pytest.raises(ConfigError, match="verify_timeout"):
        MCPMarkEnv(verify_timeout=0)
    (tmp_path / "empty").mkdir()
    given = tasks(a="pass")
    with pytest.raises(DataError, match=r"'things/a' starts from .* which is missing"):
        MCPMarkEnv(**{**given, "environments": tmp_path / "empty"})
    with MCPMarkEnv(**given) as env:
        env.reset(seed=0)
        with pytest.raises(DataError, match=r"no oracle\.json"):
            env.script()


@pytest.mark.slow
def test_concurrent_environments_have_separate_files():
    vector = gem_core.make_vec("mcp:Sample", num_envs=8, executor="threads", select="shop/revenue")
    vector.reset(seed=0)
    calls = [tool_call("write_file", path=f"{number}.txt", content="") for number in range(8)]
    vector.step(calls)
    shown = vector.step([tool_call("search_files", pattern="*.txt", path=".")] * 8)[0]
    own = [sorted(set(text.split()) - {"orders/README.txt"}) for text in shown]
    vector.close()
    assert own == [[f"{number}.txt"] for number in range(8)]

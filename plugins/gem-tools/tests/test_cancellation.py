"""Cancelled calls and Ctrl-C: what waits ends, and nothing is left behind."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from cli import gem
from commands import Command
from needs import missing
from selection import thorough

import gem_core
import gem_workers
from gem_core import Info, Observation
from gem_core.agent import ScriptedAgent
from gem_core.errors import SandboxError
from gem_rollout import collect
from gem_rollout.records.store import read_keys
from gem_sandbox.guest.process_tree import descendants
from gem_tools import background
from gem_workers.cancellation import Cancellation
from gem_workers.sandbox import Program

QUEUED = 6
SLEEP = "<python>import time; time.sleep(60)</python>"
GAME = "game:GuessTheNumber-v0-easy"
SANDBOXES = ["warm", "process", "docker"]


@pytest.fixture
def sandbox(request: pytest.FixtureRequest) -> str:
    if request.param == "docker":
        try:
            gem_workers.make_sandbox("docker").run(Program("pass"))
        except SandboxError as error:
            missing("docker", str(error))
    return str(request.param)


@pytest.fixture
def mute_server() -> Iterator[str]:
    """A server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=200) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for(condition: Callable[[], Any]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The sandbox 'process'")
@pytest.mark.parametrize("tool", ["python", "python_session"])
@pytest.mark.parametrize("sandbox", SANDBOXES, indirect=True)
def test_cancelled_episodes_leave_the_queue_of_the_sandbox(tool: str, sandbox: str) -> None:
    options = {"id": tool, "sandbox": {"id": sandbox, "workers": 2}, "timeout": 100}
    acted: list[str] = []

    class Sleeper(ScriptedAgent):
        def act(self, observation: Observation, info: Info) -> Any:
            acted.append(SLEEP)
            return super().act(observation, info)

    async def main() -> Any:
        run = collect(
            lambda: gem_core.make(GAME, tools=[options]),
            lambda: Sleeper([SLEEP]),
            episodes=QUEUED,
            concurrency=QUEUED,
        )
        first = asyncio.ensure_future(anext(run))
        async with asyncio.timeout(60):
            while len(acted) < QUEUED:  # noqa: ASYNC110 - threads may play
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.2)  # until programs run
        first.cancel()
        await asyncio.wait([first])
        assert first.cancelled()
        await run.aclose()
        return run.report.total

    total = asyncio.run(main())
    assert total.cancelled == QUEUED
    assert total.episodes == 0
    # A container that was being started is waited for in its thread.
    wait_for(lambda: not [one for one in threading.enumerate() if "gem-rollout" in one.name])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The sandbox 'process'")
@pytest.mark.parametrize("sandbox", SANDBOXES, indirect=True)
def test_calls_in_threads_end_when_they_are_cancelled(sandbox: str) -> None:
    tool = gem_core.make_tool("python", sandbox={"id": sandbox, "workers": 2}, timeout=100)
    ended: list[BaseException] = []

    def run(cancellation: Cancellation) -> None:
        try:
            cancellation.run(tool.run, tool.parse(SLEEP))
        except BaseException as error:
            ended.append(error)

    calls = [Cancellation() for _ in range(QUEUED)]
    threads = [threading.Thread(target=run, args=[call]) for call in calls]
    for thread in threads:
        thread.start()
    time.sleep(0.3)  # until programs run
    for call in calls:
        call.cancel()
    for thread in threads:
        thread.join()
    assert [type(error) for error in ended] == [asyncio.CancelledError] * QUEUED
    tool.close()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The sandbox 'process'")
@pytest.mark.parametrize("sandbox", SANDBOXES, indirect=True)
def test_awaited_calls_end_when_they_are_cancelled(sandbox: str) -> None:
    tool = gem_core.make_tool("python", sandbox={"id": sandbox, "workers": 2}, timeout=100)

    async def main() -> None:
        calls = [asyncio.create_task(tool.arun(tool.parse(SLEEP))) for _ in range(QUEUED)]
        await asyncio.sleep(0.3)  # until programs run
        for call in calls:
            call.cancel()
        await asyncio.wait(calls)
        assert all(call.cancelled() for call in calls)
        result = await tool.arun(tool.parse("<python>print(6 * 7)</python>"))
        assert "42" in result.output

    asyncio.run(main())  # it waits for the threads of the loop
    tool.close()


PLAIN_SERVER = Path(__file__).with_name("mcp") / "plain_server.py"
MCP_SERVER = """
import runpy, signal, subprocess, sys, time

signal.signal(signal.SIGTERM, signal.SIG_IGN)
deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(300)"
child = subprocess.Popen([sys.executable, "-c", deaf], start_new_session=True)
open(sys.argv[1], "w").write(str(child.pid))
runpy.run_path({plain!r})
time.sleep(300)
"""
FREEZE = "<tool_call> <tool_name>freeze</tool_name> </tool_call>"


@pytest.mark.slow
def test_a_signal_that_does_not_wake_the_waiting_thread_is_handled() -> None:
    cancelled = threading.Event()

    async def interrupted() -> None:
        await asyncio.sleep(0.1)  # until the main thread waits
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)  # which does not wake it
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    with pytest.raises(KeyboardInterrupt):
        background.run(interrupted())
    assert cancelled.wait(60)


@pytest.fixture
def interrupt(tmp_path: Path) -> Callable[..., str]:
    """Run a command until it is ready, interrupt it once, and return what it printed."""

    def run(*words: str, ready: Callable[[int], Any] | None = None) -> str:
        folder = tmp_path / "temporary"
        folder.mkdir()
        command = Command(
            [sys.executable, "-m", "gem_core", *words, f"out={tmp_path / 'run'}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "TMPDIR": str(folder), "GEM_TOOLS_TEST": "1"},
        )
        ready = ready or has_many_threads
        wait_for(lambda: ready(command.pid) or command.poll() is not None)
        assert command.poll() is None, command.communicate()[0]
        started = descendants(command.pid)
        os.kill(command.pid, signal.SIGINT)
        said, _ = command.communicate(timeout=120)
        assert command.returncode == 130, said
        wait_for(lambda: not any(map(is_running, started)))
        assert not list(folder.iterdir())
        return said

    return run


def has_many_threads(pid: int) -> bool:
    """Return whether a command has a thread for each of its episodes."""
    return len(list(Path(f"/proc/{pid}/task").iterdir())) >= 16


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "sandbox"),
    [("run", "warm"), ("eval", "process"), ("run", "docker")]
    if not thorough()
    else product(["run", "eval"], SANDBOXES),
    indirect=["sandbox"],
)
def test_ctrl_c_ends_queued_and_running_programs_and_keeps_what_has_ended(
    tmp_path: Path, interrupt: Callable[..., str], command: str, sandbox: str
) -> None:
    words = [
        *(command, GAME, "agent=scripted", "agent.repeat=true", "episodes=30"),
        f"agent.actions={json.dumps([SLEEP])}",
        *("tools=[python]", f"tools.python.sandbox={sandbox}", "tools.python.timeout=100"),
    ]
    assert "resume=true" in interrupt(*words)
    assert not list(read_keys(tmp_path / "run/trajectories.jsonl"))


@pytest.mark.slow
def test_ctrl_c_ends_the_tests_of_programs_and_the_run_can_be_continued(
    tmp_path: Path, interrupt: Callable[..., str]
) -> None:
    answer = "```python\nimport time; time.sleep(0.2)\n```"
    words = ["run", "code:Sample", "agent=scripted", "agent.repeat=true", "episodes=8"]
    words.append(f"agent.actions={json.dumps([answer])}".replace("\\n", "\n"))
    words.append("concurrency=1")  # one episode ends after the other
    path = tmp_path / "run/trajectories.jsonl"
    interrupt(*words, ready=lambda _: path.exists() and len(path.read_text()) > 0)
    kept = {key.index for key in read_keys(path)}
    assert 0 < len(kept) < 8
    assert gem(*words, f"out={tmp_path / 'run'}", "resume=true").returncode == 0
    assert sorted(key.index for key in read_keys(path)) == list(range(8))


@pytest.mark.slow
def test_ctrl_c_does_not_wait_for_servers_that_do_not_answer(
    interrupt: Callable[..., str], mute_server: str
) -> None:
    words = ["agent=scripted", "agent.repeat=true", "agent.actions=['<search>x</search>']"]
    search = ["tools=[search]", f"tools.search.search_url={mute_server}/retrieve"]
    interrupt("run", GAME, *words, *search, "tools.search.timeout=100")


@pytest.mark.slow
def test_ctrl_c_ends_an_mcp_server_with_descendants_that_ignore_signals(
    tmp_path: Path, interrupt: Callable[..., str]
) -> None:
    pytest.importorskip("mcp", reason="pip install 'gem-tools[mcp]'")
    server, noted = tmp_path / "server.py", tmp_path / "pid"
    server.write_text(MCP_SERVER.format(plain=str(PLAIN_SERVER)))
    config = json.dumps([sys.executable, str(server), str(noted)])
    words = ["agent=scripted", "agent.repeat=true", f"agent.actions=['{FREEZE}']"]
    mcp = ["tools=[mcp]", f"tools.mcp.config={config}", "tools.mcp.execution_timeout=100"]
    interrupt("run", GAME, *words, *mcp)
    assert not is_running(int(noted.read_text()))


@pytest.mark.slow
def test_ctrl_c_ends_the_connection_to_an_mcp_server_that_says_nothing(
    interrupt: Callable[..., str],
) -> None:
    pytest.importorskip("mcp", reason="pip install 'gem-tools[mcp]'")
    config = json.dumps([sys.executable, "-c", "import time; time.sleep(300)"])
    words = ["agent=random", "tools=[mcp]", f"tools.mcp.config={config}"]
    interrupt("run", GAME, *words, ready=descendants)


@pytest.mark.slow
@pytest.mark.parametrize(
    "end", [signal.SIGKILL, signal.SIGTERM] if thorough() else [signal.SIGKILL]
)
def test_an_mcp_server_and_its_descendants_do_not_outlive_the_program(
    tmp_path: Path, end: signal.Signals
) -> None:
    pytest.importorskip("mcp", reason="pip install 'gem-tools[mcp]'")
    server, noted = tmp_path / "server.py", tmp_path / "pid"
    server.write_text(MCP_SERVER.format(plain=str(PLAIN_SERVER)))
    script = f"""
import sys, time
from gem_tools.mcp import MCPTool
tool = MCPTool([sys.executable, {str(server)!r}, {str(noted)!r}])
print("ready", flush=True)
time.sleep(300)
"""
    with Command([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert re.match("ready", program.stdout.readline())
        started = descendants(program.pid)
        os.kill(program.pid, end)
    wait_for(lambda: not any(map(is_running, {*started, int(noted.read_text())})))

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
from pathlib import Path
from typing import Any

import pytest
from commands import Command
from needs import missing

import gem_core
from gem_core.agent import ScriptedAgent
from gem_core.errors import SandboxError
from gem_core.sandbox import Program
from gem_rollout import collect_async, read_keys
from gem_sandbox.guest.process_tree import descendants
from gem_tools import background
from gem_workers import Cancellation

SLEEP = "<python>import time; time.sleep(60)</python>"
QUEUED = 40
GAME = "game:GuessTheNumber-v0-easy"
SANDBOXES = ["warm", "process", "docker"]


@pytest.fixture
def sandbox(request: pytest.FixtureRequest) -> str:
    if request.param == "docker":
        try:
            gem_core.make_sandbox("docker").run(Program("pass"))
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


def wait_for(condition: Callable[[], Any], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


class TestCollectAsync:
    @pytest.mark.filterwarnings("ignore:The sandbox 'process'")
    @pytest.mark.parametrize("tool", ["python", "python_session"])
    @pytest.mark.parametrize("sandbox", SANDBOXES, indirect=True)
    def test_that_is_cancelled_leaves_the_queue_of_the_sandbox(
        self, tool: str, sandbox: str
    ) -> None:
        count = QUEUED if sandbox != "docker" else 6
        options = {"id": tool, "sandbox": sandbox, "timeout": 100}

        async def main() -> Any:
            run = collect_async(
                lambda: gem_core.make(GAME, tools=[options]),
                lambda: ScriptedAgent([SLEEP]),
                episodes=count,
                concurrency=count,
            )
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(3):
                    await anext(run)
            await run.aclose()
            return run.report.total

        total = asyncio.run(main())
        assert 0 < total.cancelled <= count  # a busy machine has not begun all of them
        assert total.episodes == 0
        # A container that was being started is waited for in its thread.
        wait_for(lambda: not [one for one in threading.enumerate() if "gem-rollout" in one.name])


@pytest.mark.filterwarnings("ignore:The sandbox 'process'")
@pytest.mark.parametrize("sandbox", SANDBOXES, indirect=True)
class TestTool:
    def test_that_runs_in_threads_ends_when_it_is_cancelled(self, sandbox: str) -> None:
        tool = gem_core.make_tool("python", sandbox=sandbox, timeout=100)
        ended: list[BaseException] = []

        def run(cancellation: Cancellation) -> None:
            try:
                cancellation.run(tool.run, tool.parse(SLEEP))
            except BaseException as error:
                ended.append(error)

        calls = [Cancellation() for _ in range(10)]
        threads = [threading.Thread(target=run, args=[call]) for call in calls]
        for thread in threads:
            thread.start()
        time.sleep(1)
        for call in calls:
            call.cancel()
        for thread in threads:
            thread.join()
        assert [type(error) for error in ended] == [asyncio.CancelledError] * 10
        tool.close()

    def test_that_is_awaited_ends_when_it_is_cancelled(self, sandbox: str) -> None:
        tool = gem_core.make_tool("python", sandbox=sandbox, timeout=100)

        async def main() -> None:
            calls = [asyncio.create_task(tool.arun(tool.parse(SLEEP))) for _ in range(10)]
            await asyncio.sleep(1)
            for call in calls:
                call.cancel()
            await asyncio.wait(calls)
            assert all(call.cancelled() for call in calls)
            result = await tool.arun(tool.parse("<python>print(6 * 7)</python>"))
            assert "42" in result.output

        asyncio.run(main())  # it waits for the threads of the loop
        tool.close()


MCP_SERVER = """
import signal, subprocess, sys, time
from mcp.server.mcpserver import MCPServer

signal.signal(signal.SIGTERM, signal.SIG_IGN)
deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(300)"
child = subprocess.Popen([sys.executable, "-c", deaf], start_new_session=True)
open(sys.argv[1], "w").write(str(child.pid))
server = MCPServer("slow")

@server.tool()
def nap() -> str:
    "Sleep."
    time.sleep(300)

server.run()
time.sleep(300)
"""
NAP = "<tool_call> <tool_name>nap</tool_name> </tool_call>"


def test_a_signal_that_does_not_wake_the_waiting_thread_is_handled() -> None:
    cancelled = threading.Event()

    async def interrupted() -> None:
        await asyncio.sleep(0.2)  # until the main thread waits
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)  # which does not wake it
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    with pytest.raises(KeyboardInterrupt):
        background.run(interrupted())
    assert cancelled.wait(10)


class TestCtrlC:
    def interrupted(self, tmp_path: Path, *words: str, ready: Callable[[int], bool]) -> str:
        """Run a command until it is ready, interrupt it once, and return what it printed."""
        folder = tmp_path / "temporary"
        folder.mkdir()
        command = Command(
            [sys.executable, "-m", "gem_core", *words, f"out={tmp_path / 'run'}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "TMPDIR": str(folder), "GEM_TOOLS_TEST": "1"},
        )
        wait_for(lambda: ready(command.pid) or command.poll() is not None)
        assert command.poll() is None, command.communicate()[0]
        started = descendants(command.pid)
        os.kill(command.pid, signal.SIGINT)
        said, _ = command.communicate(timeout=30)
        assert command.returncode == 130, said
        wait_for(lambda: not any(map(is_running, started)), 10)
        assert not list(folder.iterdir())
        return said

    @pytest.mark.parametrize("command", ["run", "eval"])
    @pytest.mark.parametrize("sandbox", SANDBOXES, indirect=True)
    def test_ends_queued_and_running_programs_and_keeps_what_has_ended(
        self, tmp_path: Path, command: str, sandbox: str
    ) -> None:
        words = [
            *(command, GAME, "agent=scripted", "agent.repeat=true", "episodes=30"),
            f"agent.actions={json.dumps([SLEEP])}",
            *("tools=[python]", f"tools.python.sandbox={sandbox}", "tools.python.timeout=100"),
        ]
        busy = lambda pid: len(list(Path(f"/proc/{pid}/task").iterdir())) >= 16  # noqa: E731
        said = self.interrupted(tmp_path, *words, ready=busy)
        assert "resume=true" in said
        assert not list(read_keys(tmp_path / "run/trajectories.jsonl"))

    def test_ends_the_tests_of_programs_and_the_run_can_be_continued(self, tmp_path: Path) -> None:
        answer = "```python\nimport time; time.sleep(0.7)\n```"
        words = ["run", "code:Sample", "agent=scripted", "agent.repeat=true", "episodes=14"]
        words.append(f"agent.actions={json.dumps([answer])}".replace("\\n", "\n"))
        path = tmp_path / "run/trajectories.jsonl"
        self.interrupted(
            tmp_path, *words, ready=lambda _: path.exists() and len(path.read_text()) > 0
        )
        kept = {key.index for key in read_keys(path)}
        assert 0 < len(kept) < 14
        again = [sys.executable, "-m", "gem_core", *words, f"out={tmp_path / 'run'}", "resume=true"]
        subprocess.run(again, check=True, capture_output=True)
        assert sorted(key.index for key in read_keys(path)) == list(range(14))

    def test_does_not_wait_for_servers_that_do_not_answer(
        self, tmp_path: Path, mute_server: str
    ) -> None:
        search = ["tools=[search]", f"tools.search.search_url={mute_server}/retrieve"]
        words = ["agent=scripted", "agent.repeat=true", "agent.actions=['<search>x</search>']"]
        busy = lambda pid: len(list(Path(f"/proc/{pid}/task").iterdir())) >= 16  # noqa: E731
        words = [*words, *search, "tools.search.timeout=100"]
        self.interrupted(tmp_path, "run", GAME, *words, ready=busy)

    def test_ends_an_mcp_server_with_descendants_that_ignore_signals(self, tmp_path: Path) -> None:
        pytest.importorskip("mcp", reason="pip install 'gem-tools[mcp]'")
        server, noted = tmp_path / "server.py", tmp_path / "pid"
        server.write_text(MCP_SERVER)
        config = json.dumps([sys.executable, str(server), str(noted)])
        words = ["agent=scripted", "agent.repeat=true", f"agent.actions=['{NAP}']"]
        busy = lambda pid: len(list(Path(f"/proc/{pid}/task").iterdir())) >= 16  # noqa: E731
        mcp = ["tools=[mcp]", f"tools.mcp.config={config}", "tools.mcp.execution_timeout=100"]
        self.interrupted(tmp_path, "run", GAME, *words, *mcp, ready=busy)
        assert not is_running(int(noted.read_text()))

    def test_ends_the_connection_to_an_mcp_server_that_says_nothing(self, tmp_path: Path) -> None:
        pytest.importorskip("mcp", reason="pip install 'gem-tools[mcp]'")
        config = json.dumps([sys.executable, "-c", "import time; time.sleep(300)"])
        words = ["agent=random", "tools=[mcp]", f"tools.mcp.config={config}"]
        self.interrupted(tmp_path, "run", GAME, *words, ready=lambda pid: bool(descendants(pid)))


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_an_mcp_server_and_its_descendants_do_not_outlive_the_program(
    tmp_path: Path, end: signal.Signals
) -> None:
    pytest.importorskip("mcp", reason="pip install 'gem-tools[mcp]'")
    server, noted = tmp_path / "server.py", tmp_path / "pid"
    server.write_text(MCP_SERVER)
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

"""Sessions are shared, survive what servers do, and leave nothing behind."""

import asyncio
import contextlib
import copy
import json
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gem_tools.mcp import MCPTool

FAST = {"delay_between_retries": 0.01}


def is_alive(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    return False


@pytest.fixture(scope="module")
def mortal(plain_command):
    """The command of a server that tests may end; it is started again when it is needed."""
    command = [*plain_command, "mortal"]
    with contextlib.closing(MCPTool(command)):
        yield command


@pytest.mark.slow
def test_a_server_is_shared_by_its_tools_and_ends_with_the_last_of_them(plain_command, call):
    tools = [MCPTool([*plain_command, "shared"]) for _ in range(5)]
    tools.append(copy.copy(tools[0]))
    pids = {int(call(tool, "pid").output) for tool in tools}
    assert len(pids) == 1
    (pid,) = pids
    for tool in tools[:-1]:
        tool.close()
        tool.close()
    last = tools.pop()
    assert int(call(last, "pid").output) == pid
    last.close()
    assert not is_alive(pid)


@pytest.mark.slow
def test_64_threads_share_one_session_and_each_gets_its_own_answers(odd, call):
    def ask(number):
        return [call(odd, "echo", text=f"{number}.{turn}").output for turn in range(5)]

    with ThreadPoolExecutor(64) as threads:
        answers = list(threads.map(ask, range(64)))
    assert answers == [[f"{number}.{turn}" for turn in range(5)] for number in range(64)]


@pytest.mark.slow
def test_calls_that_wait_run_concurrently_and_block_no_others(odd, call, tmp_path):
    note = tmp_path / "note"

    async def all_at_once():
        arguments = json.dumps({"note": str(note)})
        wait = odd.parse(
            f"<tool_call><tool_name>wait</tool_name><arguments>{arguments}</arguments></tool_call>"
        )
        fast = odd.parse("<tool_call><tool_name>pid</tool_name></tool_call>")
        waiting = [asyncio.create_task(odd.arun(wait)) for _ in range(50)]
        answered = await odd.arun(fast)
        still = sum(not task.done() for task in waiting)
        note.touch()
        return answered, still, await asyncio.gather(*waiting)

    answered, still, waited = asyncio.run(all_at_once())
    assert answered.ok
    assert still == 50
    assert {result.output for result in waited} == {"there you are"}


@pytest.mark.slow
def test_a_call_that_takes_too_long_is_cancelled_at_the_server_and_the_session_stays(
    odd_command, odd, call, was_cancelled, tmp_path
):
    before, note = call(odd, "pid").output, tmp_path / "note"
    for seconds in (0.3, 3.0, 30.0):  # a busy machine needs longer until the call begins
        with contextlib.closing(
            MCPTool(odd_command, execution_timeout=seconds, max_retries=0)
        ) as hasty:
            result = call(hasty, "hang", note=str(note))
        assert not result.ok
        said = f"'hang' timed out after {seconds} seconds"
        assert result.output == f"[Tool execution failed: {said}]"
        if note.exists():
            break
    assert was_cancelled(note)
    assert call(odd, "pid").output == before


@pytest.mark.slow
def test_a_call_that_its_caller_gives_up_is_cancelled_at_the_server(odd, was_cancelled, tmp_path):
    note = tmp_path / "note"
    arguments = json.dumps({"note": str(note)})
    hang = odd.parse(
        f"<tool_call><tool_name>hang</tool_name><arguments>{arguments}</arguments></tool_call>"
    )

    async def give_up():
        calling = asyncio.create_task(odd.arun(hang))
        while not note.exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.01)
        calling.cancel()
        await asyncio.wait([calling])
        assert calling.cancelled()

    asyncio.run(give_up())
    assert was_cancelled(note)


@pytest.mark.slow
def test_a_timeout_is_tried_again_as_often_as_asked(odd_command, call, tmp_path):
    tool = MCPTool(odd_command, execution_timeout=0.2, max_retries=2, **FAST)
    notes = []
    original = tool._answer

    async def counting(entry, arguments):
        notes.append(entry.function.name)
        return await original(entry, arguments)

    tool._answer = counting
    assert not call(tool, "hang", note=str(tmp_path / "note")).ok
    assert notes == ["hang"] * 3
    del tool._answer
    tool.close()


@pytest.mark.slow
def test_a_server_that_dies_in_mid_call_is_started_again_and_the_call_repeated(
    mortal, call, tmp_path
):
    tool = MCPTool(mortal, **FAST)
    first = call(tool, "pid").output
    assert call(tool, "die_once", note=str(tmp_path / "note")).output == "survived"
    assert call(tool, "pid").output != first
    tool.close()


@pytest.mark.slow
def test_a_server_that_always_dies_is_a_failed_call_and_others_go_on(mortal, call):
    tool = MCPTool(mortal, max_retries=1, **FAST)
    result = call(tool, "die")
    assert result.output.startswith("[Tool execution failed: failed to connect to the server")
    assert call(tool, "pid").ok
    tool.close()


def test_a_tool_that_denies_being_idempotent_is_called_once(mortal, call, tmp_path):
    tool = MCPTool(mortal, max_retries=3, **FAST)
    note = tmp_path / "note"
    assert not call(tool, "pay_and_die", note=str(note)).ok
    assert note.read_text() == "paid\n"
    tool.close()


@pytest.mark.slow
def test_a_server_that_freezes_is_taken_for_dead_and_replaced(
    mortal, call, monkeypatch, wait_until
):
    monkeypatch.setattr("gem_tools.mcp.sessions._PROBE_SECONDS", 0.5)
    tool, hasty = MCPTool(mortal), MCPTool(mortal, execution_timeout=0.3, max_retries=0)
    pid = int(call(tool, "pid").output)
    assert not call(hasty, "freeze").ok
    assert wait_until(lambda: not is_alive(pid))
    assert int(call(tool, "pid").output) != pid
    tool.close()
    hasty.close()


@pytest.mark.slow
def test_a_killed_server_is_noticed_with_the_next_call(mortal, call, wait_until):
    tool = MCPTool(mortal, **FAST)
    pid = int(call(tool, "pid").output)
    os.kill(pid, signal.SIGKILL)
    assert wait_until(lambda: not is_alive(pid))
    assert int(call(tool, "pid").output) != pid
    tool.close()


@pytest.mark.slow
def test_floods_of_results_and_noise_do_not_harm_the_session(odd_command, call, capfd):
    tool = MCPTool([*odd_command, "floods"], longest_output=1000)
    with ThreadPoolExecutor(4) as threads:
        floods = [threads.submit(call, tool, "flood", size=2_000_000) for _ in range(4)]
        noise = threads.submit(call, tool, "chatter", lines=500)  # more than pipes hold
        assert all(len(flood.result().output) < 1100 for flood in floods)
        assert noise.result().output == "done"
    assert call(tool, "echo", text="well").output == "well"
    tool.close()
    assert "noise" not in capfd.readouterr().err


def run_program(code, **given):
    """Run a program that makes a ``tool``, and return what it prints."""
    lines = [f"{name} = {value!r}" for name, value in given.items()]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n".join([*lines, code])],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.mark.slow
def test_ctrl_c_ends_the_wait_and_cancels_the_call(plain_command, tmp_path):
    note = str(tmp_path / "note")
    code = """
import os, signal, threading, time
from pathlib import Path
from gem_core import ToolCall
from gem_tools.mcp import MCPTool

def interrupt():
    while not os.path.exists(note): time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)

tool = MCPTool(command)
threading.Thread(target=interrupt).start()
try:
    tool.run(ToolCall(tool.name, {"note": note}, "", function="hang"))
except KeyboardInterrupt:
    print("interrupted")
while Path(note).read_text() != "cancelled": time.sleep(0.01)
"""
    assert run_program(code, command=plain_command, note=note) == ["interrupted"]


@pytest.mark.slow
def test_a_tool_that_a_handler_calls_in_its_thread_refuses_and_does_not_wait_for_ever(odd_command):
    said = []
    tool = None

    def handler(progress, total, message):
        try:
            tool.run(tool.parse("<tool_call><tool_name>pid</tool_name></tool_call>"))
        except Exception as error:
            said.append(str(error))

    tool = MCPTool(odd_command, progress_handler=handler)
    counting = tool.parse(
        '<tool_call><tool_name>count</tool_name><arguments>{"to": 1}</arguments></tool_call>'
    )
    done = threading.Thread(target=tool.run, args=[counting])
    done.start()
    done.join(60)
    assert not done.is_alive()
    tool.close()
    assert "await the tool's arun" in said[0]

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
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from commands import Command

from gem_tools.mcp import MCPTool

FAST = {"delay_between_retries": 0.01}


def is_alive(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    return False


def wait_until(happened):
    for _ in range(1000):
        if happened():
            return True
        time.sleep(0.02)
    return False


def test_all_tools_of_the_same_server_share_one_process_until_the_last_is_closed(odd_command, call):
    tools = [MCPTool([*odd_command, "shared"]) for _ in range(5)]
    tools.append(copy.copy(tools[0]))
    pids = {int(call(tool, "pid").output) for tool in tools}
    assert len(pids) == 1
    (pid,) = pids
    for tool in tools[:-1]:
        tool.close()
        tool.close()
    assert int(call(tools[-1], "pid").output) == pid
    tools[-1].close()
    assert not is_alive(pid)


def test_a_closed_tool_may_be_used_again_with_a_new_process(odd_command, call):
    tool = MCPTool([*odd_command, "again"])
    first = call(tool, "pid").output
    tool.close()
    assert call(tool, "pid").output != first
    tool.close()


def test_a_tool_that_nobody_holds_any_more_ends_its_server(odd_command, call):
    tool = MCPTool([*odd_command, "collected"])
    pid = int(call(tool, "pid").output)
    del tool
    assert wait_until(lambda: not is_alive(pid))


def test_64_threads_share_one_session_and_each_gets_its_own_answers(odd, call):
    def ask(number):
        return [call(odd, "echo", text=f"{number}.{turn}").output for turn in range(5)]

    with ThreadPoolExecutor(64) as threads:
        answers = list(threads.map(ask, range(64)))
    assert answers == [[f"{number}.{turn}" for turn in range(5)] for number in range(64)]


def test_slow_calls_run_at_once_and_hold_up_nobody(odd, call):
    async def all_at_once():
        slow = odd.parse(
            '<tool_call><tool_name>slow</tool_name><arguments>{"seconds": 1}</arguments>'
            "</tool_call>"
        )
        fast = odd.parse("<tool_call><tool_name>pid</tool_name></tool_call>")
        waiting = [asyncio.create_task(odd.arun(slow)) for _ in range(50)]
        answered = await odd.arun(fast)
        still = sum(not task.done() for task in waiting)
        return answered, still, await asyncio.gather(*waiting)

    answered, still, slow = asyncio.run(all_at_once())
    assert answered.ok
    assert still == 50
    assert {result.output for result in slow} == {"there you are"}


def test_a_call_that_takes_too_long_is_cancelled_at_the_server_and_the_session_stays(
    odd_command, odd, call, tmp_path
):
    hasty = MCPTool(odd_command, execution_timeout=0.3, max_retries=0)
    before = call(odd, "pid").output
    result = call(hasty, "hang", note=str(tmp_path / "note"))
    assert not result.ok
    assert result.output == "[Tool execution failed: 'hang' timed out after 0.3 seconds]"
    assert wait_until((tmp_path / "note").exists)
    assert call(hasty, "pid").output == before
    hasty.close()


def test_a_call_that_its_caller_gives_up_is_cancelled_at_the_server(odd, tmp_path):
    arguments = json.dumps({"note": str(tmp_path / "note")})
    hang = odd.parse(
        f"<tool_call><tool_name>hang</tool_name><arguments>{arguments}</arguments></tool_call>"
    )

    async def give_up():
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(odd.arun(hang), 0.5)

    asyncio.run(give_up())
    assert wait_until((tmp_path / "note").exists)


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


def test_a_server_that_dies_in_mid_call_is_started_again_and_the_call_repeated(
    odd_command, call, tmp_path
):
    tool = MCPTool([*odd_command, "dies"], **FAST)
    first = call(tool, "pid").output
    assert call(tool, "die_once", note=str(tmp_path / "note")).output == "survived"
    assert call(tool, "pid").output != first
    tool.close()


def test_a_server_that_always_dies_is_a_failed_call_and_others_go_on(odd_command, call):
    tool = MCPTool([*odd_command, "mortal"], max_retries=1, **FAST)
    result = call(tool, "die")
    assert result.output.startswith("[Tool execution failed: failed to connect to the server")
    assert call(tool, "echo", text="still here").output == "still here"
    tool.close()


def test_a_tool_that_denies_being_idempotent_is_called_once(odd_command, call, tmp_path):
    tool = MCPTool([*odd_command, "payment"], max_retries=3, **FAST)
    note = tmp_path / "note"
    assert not call(tool, "pay_and_die", note=str(note)).ok
    assert note.read_text() == "paid\n"
    tool.close()


def test_a_server_that_freezes_is_taken_for_dead_and_replaced(odd_command, call, monkeypatch):
    monkeypatch.setattr("gem_tools.mcp.sessions._PROBE_SECONDS", 0.5)
    tool = MCPTool([*odd_command, "freezes"], execution_timeout=1.0, max_retries=0)
    pid = int(call(tool, "pid").output)
    assert not call(tool, "freeze").ok
    assert wait_until(lambda: not is_alive(pid))
    assert call(tool, "echo", text="new").output == "new"
    tool.close()


def test_a_killed_server_is_noticed_with_the_next_call(odd_command, call):
    tool = MCPTool([*odd_command, "killed"], **FAST)
    pid = int(call(tool, "pid").output)
    os.kill(pid, signal.SIGKILL)
    assert wait_until(lambda: not is_alive(pid))
    assert int(call(tool, "pid").output) != pid
    tool.close()


def test_floods_of_results_and_noise_do_not_harm_the_session(odd_command, call, capfd):
    tool = MCPTool([*odd_command, "floods"], longest_output=1000)
    with ThreadPoolExecutor(4) as threads:
        floods = [threads.submit(call, tool, "flood", size=2_000_000) for _ in range(4)]
        noise = threads.submit(call, tool, "chatter", lines=3000)
        assert all(len(flood.result().output) < 1100 for flood in floods)
        assert noise.result().output == "done"
    assert call(tool, "echo", text="well").output == "well"
    tool.close()
    assert "noise" not in capfd.readouterr().err


def test_ctrl_c_ends_the_wait_and_cancels_the_call(odd_command, tmp_path):
    code = (
        "import json, sys, threading, os, signal, time\n"
        "from gem_tools.mcp import MCPTool\n"
        f"tool = MCPTool({odd_command!r})\n"
        f"text = json.dumps({{'note': {str(tmp_path / 'note')!r}}})\n"
        "call = tool.parse('<tool_call><tool_name>hang</tool_name><arguments>' + text + "
        "'</arguments></tool_call>')\n"
        "threading.Timer(1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
        "try:\n"
        "    tool.run(call)\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
        "while not os.path.exists(json.loads(text)['note']): time.sleep(0.02)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.returncode) == ("interrupted\n", 0), done.stderr


PROGRAM = """
import os, sys
from gem_tools.mcp import MCPTool

def pid(tool):
    return tool.run(tool.parse("<tool_call><tool_name>pid</tool_name></tool_call>")).output

tool = MCPTool({command!r})
print(pid(tool), flush=True)
{then}
"""


def run_program(command, then):
    code = PROGRAM.format(command=[*command, "program"], then=then)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return [int(line) for line in done.stdout.split()]


def test_the_end_of_the_program_ends_the_servers_without_a_word(odd_command):
    (pid,) = run_program(odd_command, "")
    assert not is_alive(pid)


def test_a_killed_program_leaves_no_server_behind(odd_command):
    code = PROGRAM.format(command=odd_command, then="import time; time.sleep(60)")
    with Command([sys.executable, "-c", code], stdout=subprocess.PIPE) as program:
        pid = int(program.stdout.readline())
        program.kill()
    assert wait_until(lambda: not is_alive(pid))


def test_a_forked_child_has_sessions_of_its_own_and_leaves_its_parents_alone(odd_command):
    first, child, again = run_program(
        odd_command,
        "child = os.fork()\n"
        "if not child:\n"
        "    print(pid(tool), flush=True)\n"
        "    sys.exit()\n"
        "os.waitpid(child, 0)\n"
        "print(pid(tool))",
    )
    assert child != first
    assert again == first
    assert not any(map(is_alive, (first, child)))


def test_a_tool_called_in_a_handlers_thread_is_refused_and_does_not_wait_for_ever(odd_command):
    said = []
    tool = None

    def handler(progress, total, message):
        try:
            tool.run(tool.parse("<tool_call><tool_name>pid</tool_name></tool_call>"))
        except Exception as error:
            said.append(str(error))

    tool = MCPTool([*odd_command, "handlers"], progress_handler=handler)
    counting = tool.parse(
        '<tool_call><tool_name>count</tool_name><arguments>{"to": 1}</arguments></tool_call>'
    )
    done = threading.Thread(target=tool.run, args=[counting])
    done.start()
    done.join(30)
    assert not done.is_alive()
    tool.close()
    assert "await the tool's arun" in said[0]

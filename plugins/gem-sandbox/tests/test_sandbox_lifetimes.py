"""However a sandbox, a session, a machine or a provider ends, it ends once and leaves nothing."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from backends import make_backend, require
from lifetimes_program import KINDS, rows_of
from local_machines import why_not_local

from gem_core.errors import SandboxError
from gem_sandbox import process
from gem_sandbox.machines.local import server_process
from gem_sandbox.machines.local.provider import LocalProvider
from gem_workers.machine import MachineSpec
from gem_workers.sandbox import Program

PROGRAM = Path(__file__).parent / "lifetimes_program.py"


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_it_ends_once_in_its_own_process_and_leaves_nothing(
    name: str, subtests: pytest.Subtests
) -> None:
    if "local" in name and (reason := why_not_local()):
        pytest.skip(reason)
    if "warm" in name:
        require("warm-confined")
    ran = subprocess.run(
        [sys.executable, str(PROGRAM), name],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    lines = ran.stdout.splitlines()
    for row in rows_of(name):
        with subtests.test(row.__name__):
            assert row.__name__ in lines, ran.stderr
    assert ran.returncode == 0, ran.stderr
    deadline = time.monotonic() + 60
    while left := [pid for pid in lines[-1].split() if Path(f"/proc/{pid}").exists()]:
        assert time.monotonic() < deadline, f"left: {left}"
        time.sleep(0.01)


@pytest.mark.parametrize("name", ["process", "warm-confined"])
def test_close_ends_what_an_event_loop_waits_for_also_for_its_turn(name: str) -> None:
    sandbox = make_backend(name, workers=1)
    sandbox.run(Program("pass"))
    program = Program("import time; time.sleep(1000)", timeout=1000)

    async def wait() -> list[object]:
        calls = [
            *(asyncio.ensure_future(sandbox.arun(program)) for _ in range(2)),
            asyncio.ensure_future(sandbox.arun_tests(program, ["", ""])),
        ]
        await asyncio.sleep(0.2)
        threading.Thread(target=sandbox.close, daemon=True).start()
        async with asyncio.timeout(60):
            return await asyncio.gather(*calls, return_exceptions=True)

    assert [type(each) for each in asyncio.run(wait())] == [SandboxError] * 3


@pytest.mark.usefixtures("local")
def test_a_server_of_machines_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_process, "_END_SECONDS", 0.2)
    server = server_process.ServerProcess()
    provider = LocalProvider()
    provider._server = server
    provider.start(MachineSpec()).close()
    pid = server._process.pid
    os.kill(pid, signal.SIGSTOP)
    server.close()
    assert not Path(f"/proc/{pid}").exists()
    provider.close()


def test_a_runner_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_END_SECONDS", 0.2)
    sandbox = make_backend("process", workers=5)
    sandbox.run(Program("pass"))
    (runner,) = sandbox._pool._idle
    pid = runner.channel._process.pid
    os.kill(pid, signal.SIGSTOP)
    sandbox.close()
    assert not Path(f"/proc/{pid}").exists()

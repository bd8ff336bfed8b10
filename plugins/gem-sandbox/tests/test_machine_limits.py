"""Machines meet their limits of processors and memory, and leave no control group behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from local_machines import controllers

from gem_core.errors import MachineError
from gem_sandbox.guest.process_tree import children
from gem_sandbox.machines.local.groups import Groups
from gem_workers.machine import MachineSpec

pytestmark = [pytest.mark.usefixtures("local"), pytest.mark.slow]


@pytest.fixture
def groups(local):
    if not controllers():
        pytest.skip("no control group can be made here; it mostly takes root")


def run_python(machine, code):
    if not machine.run("python3 --version").ok:
        pytest.skip("the machine has no python3")
    return machine.run("python3 -", stdin=code)


def test_a_machine_gets_its_share_of_the_processors(provider):
    if "cpu" not in controllers():
        pytest.skip("processors cannot be limited here")
    code = (
        "import time\n"
        "end = time.monotonic() + 0.8\n"
        "while time.monotonic() < end: pass\n"
        "print(time.process_time())\n"
    )
    with provider.start(MachineSpec(cpus=0.2)) as machine:
        assert float(run_python(machine, code).stdout) < 0.4


SHARED = """
import mmap, time
pages = mmap.mmap(-1, {size} << 20)
for place in range(0, {size} << 20, 4096):
    pages[place] = 1
    if place % (1 << 23) == 0: time.sleep(0.02)
"""


def test_memory_that_processes_share_counts(provider):
    with provider.start(MachineSpec(memory=100 << 20)) as machine:
        found = run_python(machine, SHARED.format(size=1000))
        assert (found.exit_status, found.limit) == (137, "memory")
        assert machine.run("echo well").stdout == "well\n"


def test_memory_that_processes_share_counts_once(provider):
    code = SHARED.format(size=60) + (
        "import os\n"
        "for _ in range(4):\n"
        "    if os.fork() == 0:\n"
        "        sum(pages[place] for place in range(0, len(pages), 4096))\n"
        "        time.sleep(1)\n"
        "        os._exit(0)\n"
        "for _ in range(4): print(os.wait()[1])\n"
    )
    with provider.start(MachineSpec(memory=200 << 20)) as machine:
        assert run_python(machine, code).stdout == "0\n" * 4


def test_memory_that_no_process_maps_has_a_limit(provider):
    """Files without a name belong to no process; the kernel ends what it finds, or all."""
    if "memory" not in controllers():
        pytest.skip("no memory limit of the kernel here")
    code = (
        "import os\n"
        "file = os.memfd_create('x')\n"
        "for _ in range(2000): os.write(file, bytes(1 << 20))\n"
    )
    with provider.start(MachineSpec(memory=50 << 20, disk=50 << 20)) as machine:
        try:
            status = run_python(machine, code).exit_status
        except MachineError:  # the machine has ended
            status = 137
        assert status == 137
    with provider.start(MachineSpec()) as other:
        assert other.run("echo well").stdout == "well\n"


def groups_of(server):
    folders = {name for _, names, _ in os.walk("/sys/fs/cgroup") for name in names}
    return [name for name in folders if name.startswith(f"gem-machines-{server}-")]


def wait_until_gone(server):
    deadline = time.monotonic() + 60
    while groups_of(server) and time.monotonic() < deadline:
        time.sleep(0.02)
    return groups_of(server) == []


OWNER = """
import gem_workers, os, time
machines = [gem_workers.make_machine("local") for _ in range(3)]
machines[0].close()
machines[1].shell().send("sleep 600 &")
print("started", flush=True)
time.sleep(600)
"""


@pytest.mark.usefixtures("groups")
def test_no_group_is_left_of_an_owner_that_is_killed():
    command = [sys.executable, "-c", OWNER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout.readline() == "started\n"
        [server] = children(owner.pid)
        assert groups_of(server)
        owner.send_signal(signal.SIGKILL)
    assert wait_until_gone(server)


@pytest.mark.usefixtures("groups")
def test_groups_of_a_server_that_was_killed_are_removed_by_the_next():
    command = [sys.executable, "-c", OWNER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout.readline() == "started\n"
        [server] = children(owner.pid)
        machines = children(server)
        os.kill(server, signal.SIGKILL)
        owner.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 60
    alive = [server, *machines]
    while any(map(is_alive, alive)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert groups_of(server)
    Groups()
    assert not groups_of(server)


def is_alive(pid):
    return Path(f"/proc/{pid}").exists()


def test_a_machine_costs_little_memory(provider):
    """The server has loaded few modules, and machines share nearly all of their memory."""
    provider.start(MachineSpec()).close()  # the server is there now
    before = {child: set(children(child)) for child in children(os.getpid())}
    machines = [provider.start(MachineSpec()) for _ in range(10)]
    pids = max((set(children(one)) - old for one, old in before.items()), key=len)
    text = "".join(Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in pids)
    private = [int(line.split()[1]) for line in text.splitlines() if line.startswith("Private_")]
    for machine in machines:
        machine.close()
    assert len(pids) == len(machines)
    assert sum(private) / len(pids) < 1536

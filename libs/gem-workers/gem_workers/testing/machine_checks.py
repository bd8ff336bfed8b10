"""The contract of machines: ``check_machine`` and its checks."""

import functools
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from gem_core.errors import ConfigError, MachineError, SnapshotError
from gem_core.plugins import default_registry
from gem_core.testing.report import Report, require, run_checks
from gem_workers.machine import MACHINES, Machine, MachineProvider, MachineSnapshot, MachineSpec
from gem_workers.testing.session_checks import raises

__all__ = ["MACHINE_CHECKS", "check_machine", "check_registered_machine"]

_CANARY = "a-secret-of-the-host"


class MachineBench:
    """A provider for one check, and what the checks have in common.

    Args:
        provider: The provider.
    """

    def __init__(self, provider: MachineProvider) -> None:
        self.provider = provider

    def start(self, **fields: object) -> Machine:
        """Start a machine."""
        spec = MachineSpec(**fields)  # type: ignore[arg-type]
        self.provider.prepare(spec)
        return self.provider.start(spec)


def check_machine(
    provider: str | Callable[[], MachineProvider], *, checks: Iterable[str] | None = None
) -> Report:
    """Check a provider of machines against the contract.

    The machines need ``bash`` and the usual commands of a Linux system. ``unchecked`` of the report
    lists ``isolation`` and ``limits`` for a provider that does not isolate.

    Args:
        provider: The id of a provider, or a function that makes one.
        checks: Names from ``MACHINE_CHECKS``; None for all.

    Raises:
        UnknownIdError: No provider has this id.
    """
    make = _maker(provider) if isinstance(provider, str) else provider
    report = Report(provider if isinstance(provider, str) else repr(provider))
    made = make()
    names = list(MACHINE_CHECKS if checks is None else checks)
    if not made.isolated:
        report.unchecked += [f"{name}: it does not isolate" for name in names if name in _ISOLATED]
        names = [name for name in names if name not in _ISOLATED]
    try:
        return run_checks(report, MACHINE_CHECKS, lambda: MachineBench(made), names)
    finally:
        made.close()


def check_registered_machine(provider_id: str) -> Report:
    """Check a provider by its id; if it cannot start a machine here, it is unchecked."""
    provider = _maker(provider_id)()
    try:
        provider.start(MachineSpec()).close()
    except MachineError as error:
        return Report(provider_id, unchecked=[f"it does not work here: {error}"])
    finally:
        provider.close()
    return check_machine(provider_id)


def _maker(provider_id: str) -> Callable[[], MachineProvider]:
    return default_registry().find(MACHINES, provider_id).make


def _await(condition: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Wait until a condition holds; return whether it does."""
    deadline = time.monotonic() + seconds
    while not (holds := condition()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return holds


def _output(machine: Machine, command: str) -> str:
    execution = machine.run(command)
    require(execution.ok, f"{command!r} failed: {execution}")
    return execution.stdout


def _construction(bench: MachineBench) -> None:
    """It is a ``Machine``, can be closed twice, and then refuses everything."""
    machine = bench.start()
    require(isinstance(machine, Machine), f"{type(machine).__name__} lacks methods")
    other = bench.start()
    machine.close()
    machine.close()
    raises(MachineError, lambda: machine.run("true"), "run on a closed machine")
    raises(MachineError, lambda: machine.shell().send("true"), "send on a closed machine")
    raises(MachineError, lambda: machine.read("/etc/passwd"), "read on a closed machine")
    require(_output(other, "echo 1") == "1\n", "closing one machine has ended another")
    other.close()


def _commands(bench: MachineBench) -> None:
    """Exit status, both outputs, input, environment, folder and time limit of commands."""
    machine = bench.start(workdir="/srv/work", env={"A": "1"})
    found = machine.run("echo out; echo err >&2; exit 3")
    require((found.exit_status, found.stdout, found.stderr) == (3, "out\n", "err\n"), str(found))
    require(found.limit is None and found.duration > 0, str(found))
    require(machine.run("kill -9 $$").exit_status == 137, "a killed command is not status 137")
    require(_output(machine, "pwd").endswith("/srv/work\n"), "the working directory is another")
    require(_output(machine, "echo $A") == "1\n", "the environment did not arrive")
    require(machine.run("echo $A$B", env={"B": "2"}).stdout == "12\n", "env= did not arrive")
    data = "é\n" * 100_000
    require(machine.run("cat", stdin=data).stdout == data, "300,000 bytes of stdin changed")
    require(machine.run("cat").stdout == "", "an empty stdin must be at its end")
    require(machine.run("true", stdin=data).ok, "a command that reads no stdin failed")
    require(machine.run("printf 'a\\377b'").stdout == "a\ufffdb", "output is not text")
    found = machine.run("head -c 100000 /dev/zero | tr '\\0' x; echo END", output_limit=1000)
    kept = found.stdout
    require(kept.startswith("x" * 500) and kept.endswith("END\n"), "head or tail are lost")
    require("99004" in kept and len(kept) < 1200, f"{len(kept)} characters kept of 1000 allowed")
    for seconds in (0.5, 5.0, 50.0):  # a busy machine needs more until it prints
        found = machine.run("echo begun; sleep 1000 & sleep 1000", timeout=seconds)
        if found.stdout:
            break
    require(found.limit == "wall_time" and found.stdout == "begun\n", str(found))
    late = found.duration - seconds
    require(late < 10, f"the command was ended {late:.0f} s after its time limit")
    require(not machine.processes(), f"processes are left after the limit: {machine.processes()}")
    found = machine.run("sleep 1000 >/dev/null 2>&1 & echo done", timeout=60.0)
    is_fast = found.limit is None and found.duration < 10
    require(found.stdout == "done\n" and is_fast, "a background job was waited for")
    left = _await(lambda: any("sleep" in line for line in machine.processes()))
    require(left, "a background job was ended")
    own = bench.start(workdir="", user="")
    folder = own.spec.workdir
    require(folder and _output(own, "pwd").endswith(f"{folder}\n"), "workdir='' is another folder")
    require(bool(own.spec.user), "user='' is not named in the machine's spec")
    raises(MachineError, lambda: machine.run("true", cwd="/missing"), "cwd=/missing")
    raises(MachineError, lambda: machine.run("true", user="nobody-known"), "an unknown user")
    raises(ConfigError, lambda: machine.run("a\0b"), "a zero byte in a command")
    machine.close()


def _shell(bench: MachineBench) -> None:
    """The shell keeps its state; running commands are seen, fed and interrupted."""
    machine = bench.start()
    shell = machine.shell()
    require(shell is machine.shell(), "a second shell")
    found = shell.send("mkdir -p deep/er; cd deep/er; x=5; f() { echo f$1; }; echo hi; false")
    require((found.text, found.exit_status) == ("hi\n", 1), str(found))
    require(found.directory.endswith("/deep/er"), f"the directory is {found.directory!r}")
    require(shell.send("echo $? $x; f 1").text == "1 5\nf1\n", "the state is lost")
    for text in ("echo 'a", "for", "if true; then", "break", "}", "echo $((", "cat <<E\nabc"):
        require(not shell.send(text).running, f"{text!r} did not end")
        require(shell.send("echo $x").text == "5\n", f"{text!r} has broken the shell")
    require(shell.send("echo a\necho b\n").text == "a\nb\n", "several lines")
    long = "x" * 300_000
    require(shell.send(f"echo {long} | wc -c").text == "300001\n", "a long command")
    found = shell.send("head -c 100000 /dev/zero | tr '\\0' x; echo END", output_limit=1000)
    require(found.left_out == 99_004, f"{found.left_out} bytes left out, not 99004")
    found = shell.send("echo start; read y; echo got $y", timeout=2.0)
    require(found.running and found.text == "start\n", str(found))
    found = shell.send("word\n")
    require((found.text, found.exit_status) == ("got word\n", 0), str(found))
    require(shell.send("sleep 100", timeout=0.2).running, "sleep has ended")
    found = shell.interrupt()
    require(found.exit_status == 130, f"an interrupted command has status {found.exit_status}")
    require(shell.send("trap '' INT; sleep 100", timeout=0.2).running, "sleep has ended")
    require(not shell.interrupt(timeout=0.5).running, "a stubborn command still runs")
    require(shell.send("echo $x; trap : INT").text == "5\n", "killing a command killed the shell")
    found = shell.send("sleep 100 & echo job")
    require(found.text.endswith("job\n") and not found.running, str(found))
    require("sleep" in shell.send("jobs").text, "the job is gone")
    found = shell.send("exit 4")
    require(found.exit_status == 4, f"exit 4 gave {found.exit_status}")
    require(shell.send("echo ${x-none}").text == "none\n", "a new shell knows the old variables")
    require(shell.send("").exit_status == 0, "empty text changed the status")
    raises(ConfigError, lambda: shell.send("a\0b"), "a zero byte in a command")
    machine.close()


def _files(bench: MachineBench) -> None:
    """Files go in and out; what is not a regular file is refused; pulling stays inside."""
    machine = bench.start(files={"/srv/a/b.txt": b"of the spec"})
    require(machine.read("/srv/a/b.txt") == b"of the spec", "a file of the spec is missing")
    machine.write("/srv/x/y/z", b"\0\xff", mode=0o755)
    require(machine.read("/srv/x/y/z") == b"\0\xff", "a file arrived changed")
    machine.write("/srv/x/y/z", "é", mode=0o600)
    require(machine.read("/srv/x/y/z") == "é".encode(), "a file was not replaced")
    for path in ("/srv/missing", "/srv/x", "/srv/a/b.txt/c"):
        raises(MachineError, functools.partial(machine.read, path), f"reading {path}")
    raises(MachineError, lambda: machine.write("/srv/x", b""), "writing a folder")
    raises(MachineError, lambda: machine.read("/srv/a/b.txt", limit=3), "reading beyond the limit")
    raises(ConfigError, lambda: machine.read("relative"), "a relative path")
    raises(ConfigError, lambda: machine.write("/srv/../x", b""), "a path with ..")
    shell = machine.shell()
    shell.send(f"cd {shell.send('pwd').directory}; mkdir -p tree/inner; echo 1 > tree/inner/f")
    shell.send("cd tree; ln -s inner/f link; ln -s /etc/passwd out; mkfifo pipe; pwd")
    machine.run("mkdir -p tree/inner; echo 1 > tree/inner/f; ln -s inner/f tree/link", cwd="/srv")
    machine.run("ln -s /etc/passwd tree/out; mkfifo tree/pipe", cwd="/srv")
    with tempfile.TemporaryDirectory() as folder:
        machine.pull("/srv/tree", folder)
        copy = Path(folder, "tree")
        require((copy / "inner/f").read_text() == "1\n", "a file was not pulled")
        names = {path.name for path in copy.iterdir()}
        require(names == {"inner", "link"}, f"{names} were pulled, not inner and link")
        raises(MachineError, lambda: machine.pull("/srv/none", folder), "pulling nothing")
        raises(MachineError, lambda: machine.pull("/srv/tree", folder, limit=1), "a large pull")
    machine.close()


def _states(bench: MachineBench) -> None:
    """Snapshots hold files and the shell's state; forks and restored machines are independent."""
    machine = bench.start()
    machine.run("echo 1 > f; ln f hard; ln -s f soft; chmod 640 f")
    shell = machine.shell()
    shell.send(
        "mkdir -p deep; cd deep; x='a b'; arr=(1 '2 3'); f() { echo f; }; export E=e; sleep 99 &"
    )
    _await(lambda: any("sleep" in line for line in machine.processes()))
    snapshot = machine.snapshot()
    require(any("sleep" in line for line in snapshot.lost), f"lost is {snapshot.lost}")
    look = 'echo "$x" "${arr[1]}" $E; f; cat ../f ../hard ../soft; stat -c %a ../f; pwd'
    expected = shell.send(look).text
    require(expected.startswith("a b 2 3 e\nf\n1\n1\n1\n640\n"), f"before the fork: {expected!r}")
    copy = machine.fork()
    moved = copy.shell().send("pwd").text
    found = copy.shell().send(look).text
    require(found.removesuffix(moved) == expected.removesuffix(shell.send("pwd").text), found)
    require(not copy.processes(), f"a fork has processes: {copy.processes()}")
    copy.shell().send("echo 2 > ../f; rm ../soft; x=other")
    require(shell.send(look).text == expected, "a change in the fork is seen by the original")
    shell.send("rm -rf ../f ../deep; mkdir ../deep; touch ../deep/new; x=3")
    machine.restore(snapshot)
    found = machine.shell().send(look).text
    require(found.splitlines()[:-1] == expected.splitlines()[:-1], f"restored: {found!r}")
    require(machine.shell().send("ls").text == "", "a restored folder has later files")
    started = bench.provider.start(machine.spec, snapshot)
    found = started.shell().send(look).text
    require(found.splitlines()[:-1] == expected.splitlines()[:-1], f"started: {found!r}")
    wrong = MachineSnapshot("another", snapshot.data)
    raises(SnapshotError, lambda: machine.restore(wrong), "a snapshot of another provider")
    require(machine.shell().send("echo $E").text == "e\n", "a refused snapshot changed the machine")
    for one in (machine, copy, started):
        one.close()


def _processes(bench: MachineBench) -> None:
    """All processes are ended, also those that hide; the machine can be used afterwards."""
    machine = bench.start()
    machine.shell().send("setsid sleep 98 & (setsid sleep 99 &) ; nohup sleep 97 >/dev/null 2>&1 &")
    _await(lambda: sum("sleep" in line for line in machine.processes()) >= 3)
    machine.kill_all()
    require(not machine.processes(), f"left after kill_all: {machine.processes()}")
    require(machine.shell().send("echo well").text == "well\n", "the machine is dead")
    machine.close()


def _threads(bench: MachineBench) -> None:
    """Commands of several threads, and several machines, do not disturb each other."""
    machines = [bench.start() for _ in range(4)]
    outputs: dict[int, list[str]] = {number: [] for number in range(8)}

    def work(number: int) -> None:
        for turn in range(5):
            machine = machines[number % 4]
            outputs[number].append(machine.run(f"echo {number}-{turn}").stdout)

    threads = [threading.Thread(target=work, args=(number,)) for number in outputs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for number, found in outputs.items():
        require(found == [f"{number}-{turn}\n" for turn in range(5)], f"{number}: {found}")
    for machine in machines:
        machine.close()


def _isolation(bench: MachineBench) -> None:
    """A machine sees neither the host's files, processes and network nor other machines."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(_CANARY)
        file.flush()
        machine, other = bench.start(), bench.start()
        other.run("echo here > /srv/other; sleep 77 &")
        for command in (
            f"cat {file.name}",
            "cat /srv/other",
            "cat ~/.ssh/id_rsa /etc/shadow",
            "mount -t tmpfs none /mnt",
            "mknod /tmp/disk b 8 0",
            "echo 1 > /proc/sys/kernel/sysrq",
            "exec 3<>/dev/tcp/1.1.1.1/80",
            "kill -9 1",
            "cat /proc/1/environ && false",
        ):
            found = machine.run(command, timeout=10.0)
            leaked = _CANARY in found.stdout or "here" in found.stdout
            require(not leaked, f"{command!r} was not stopped: {found}")
            if command != "kill -9 1":
                require(not found.ok, f"{command!r} was not stopped: {found}")
        require(_output(machine, "echo well") == "well\n", "the machine can be ended from inside")
        listed = _output(machine, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
        require("sleep 77" not in listed, "a process of another machine is visible")
        local = "import socket;s=socket.create_server(('127.0.0.1',0));print('ok')"
        found = machine.run(f'command -v python3 >/dev/null || exit 0; python3 -c "{local}"')
        require(found.ok, f"no local network: {found}")
    for one in (machine, other):
        one.close()


def _limits(bench: MachineBench) -> None:
    """Processes, memory and files are limited, for the whole machine."""
    machine = bench.start(processes=20, memory=100 << 20, disk=20 << 20)
    forks = machine.run("for i in $(seq 40); do sleep 50 & done; wait", timeout=3.0)
    require("Resource temporarily unavailable" in forks.stderr or _few(machine), str(forks)[:300])
    machine.kill_all()
    found = machine.run(
        "head -c 100000000 /dev/zero > /srv/big || head -c 100000000 /dev/zero > big"
    )
    require(not found.ok, "100 MB were written, 20 allowed")
    machine.run("rm -f /srv/big big")
    require(machine.run("echo well").ok, "the machine is dead after a full disk")
    hog = "x=$(head -c 15000000 /dev/zero | tr '\\0' x); y=$x$x$x$x$x$x$x$x; sleep 20; echo ${#y}"
    found = machine.run(hog, timeout=60.0)
    require(not found.ok, f"120 MB of memory were used, 100 allowed: {found.limit}")
    require(machine.run("echo well").ok, "the machine is dead after using too much memory")
    machine.close()


def _few(machine: Machine) -> bool:
    return len(machine.processes()) <= 20


MACHINE_CHECKS: dict[str, Callable[[MachineBench], None]] = {
    "construction": _construction,
    "commands": _commands,
    "shell": _shell,
    "files": _files,
    "states": _states,
    "processes": _processes,
    "threads": _threads,
    "isolation": _isolation,
    "limits": _limits,
}
"""The checks by name."""
_ISOLATED = {"isolation", "limits"}

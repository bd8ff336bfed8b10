"""The escape suite: hostile programs, the secrets that they try to reach, and their detection.

Each file in ``escapes/`` is a program. Its first lines say what it tries and what success would
be. It gets a module ``host`` with the locations of everything that it must not reach.
A third line ``# Runs: twice`` runs it twice, ``# Runs: inputs`` for several inputs, and ``# Runs:
session`` runs its pieces, between the lines ``# idle``, in a session that is idle in between.

    python plugins/gem-sandbox/tests/escape_suite.py table   # writes benchmarks/results/escapes.md
    python plugins/gem-sandbox/tests/escape_suite.py soak docker 20000
"""

import contextlib
import ctypes
import functools
import hashlib
import os
import random
import re
import secrets
import shutil
import signal
import site
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gem_sandbox.docker import connect, owned
from gem_sandbox.guest.process_tree import descendants
from gem_sandbox.guest.processes import PR_SET_CHILD_SUBREAPER
from gem_workers.sandbox import Execution, Program, Sandbox, SessionSandbox

__all__ = [
    "ESCAPES",
    "Before",
    "HostSide",
    "attack",
    "benign",
    "header",
    "leftovers",
    "patience",
    "soak",
]

ESCAPES = sorted((Path(__file__).parent / "escapes").glob("*.py"))
PROJECT = Path(__file__).resolve().parents[3]
MEMORY = 1 << 28
TIMEOUT = 0.7
SESSION_SECONDS = 2.0
IDLE_SECONDS = 0.6
INPUTS = ("1", "2", "3")
IDLE = "\n# idle\n"
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
CLEANUP_SECONDS = 60.0
NOT_ON_HOST = (
    "/dev/shm/gem-escape",
    "/dev/shm/gem_escape",
    "/tmp/gem-escape",
    "/var/tmp/gem-escape",
)
LIBRARIES = (Path(os.__file__), Path(os.__file__).parent)
BEGIN, END = "<!-- escapes: begin -->", "<!-- escapes: end -->"
VARIABLE = "GEM_ESCAPE_TOKEN"
MODULE = r"""
import ctypes, os, re

def is_shared(path):
    # Whether this is the same file as the host's.
    found = os.stat(path)
    return INODES.get(path) == (found.st_dev, found.st_ino)

def escaped(what):
    print("ESCAPED:", what, flush=True)

def syscall(number, *arguments):
    words = [a if a is None or not isinstance(a, int) else ctypes.c_long(a) for a in arguments]
    return ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(number), *words)

def print_tokens(data):
    for token in set(re.findall(rb"GEMTOKEN-[0-9a-f]{32}", data)):
        print(token.decode(), flush=True)

def scan(maps, memory):
    for line in maps:
        low, high = (int(part, 16) for part in line.split()[0].split("-"))
        if line.split()[1].startswith("r") and high - low < 1 << 30 and "[v" not in line:
            try:
                memory.seek(low)
                print_tokens(memory.read(high - low))
            except (OSError, ValueError, OverflowError):
                pass
"""
MODULE_OF_SESSION = """\
import sys, types
sys.modules["host"] = types.ModuleType("host")
exec({!r}, sys.modules["host"].__dict__)
"""
BENIGN = """\
# {token}
import json, math, os, random, statistics, sys, threading
assert 7 + 0 == 3 + 4 and "a" + "b" == "ab" and print is not None
assert set(os.listdir(".")) <= {{"main.py"}}, os.listdir(".")
# An interpreter that lies below /tmp is shown there.
paths = (sys.executable, *sys.path)
shown = {{path.split("/")[2] for path in paths if path.startswith("/tmp/")}}
for folder in ("/tmp", "/dev/shm"):
    try: left = set(os.listdir(folder))
    except OSError: left = set()
    assert left <= {{"main.py", "work", os.path.basename(os.getcwd()), *shown}}, (folder, left)
threads = [threading.Thread(target=math.isqrt, args=(n,)) for n in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
open("file", "w").write("x" * 100_000)
print(json.dumps([sum(range(1000)), statistics.mean([1, 2, 3]), input()]))
"""


def token() -> str:
    """Return a secret that programs can recognise but not guess."""
    return "GEMTOKEN-" + secrets.token_hex(16)


class HostSide:
    """Things that programs must not reach: files, ports, processes, and secrets in memory.

    Processes that lose their parent become children of this process, where ``leftovers`` finds
    them.

    Args:
        idle: Seconds between two pieces of a session.
    """

    def __init__(self, idle: float = IDLE_SECONDS) -> None:
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.idle = idle
        self.folder = Path(tempfile.mkdtemp(prefix="gem-escape-host-"))
        self.folder.chmod(0o777)
        self.outside = self.folder / "outside"
        self.outside.mkdir()
        self.outside.chmod(0o777)
        (self.outside / "keep").write_text("keep")
        self.tokens = {place: token() for place in ("file", "environment", "memory", "earlier run")}
        self.secret_file = self.folder / "canary"
        self.secret_file.write_text(self.tokens["file"])
        self.secret_file.chmod(0o666)
        os.environ[VARIABLE] = self.tokens["environment"]
        self.files, self.addresses = host_files(), addresses()
        self.marks = _marks()
        self.mark = "victim-" + secrets.token_hex(8)
        command = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(1e6)", self.mark]
        self.victim = subprocess.Popen(command)
        self._listen()

    def _listen(self) -> None:
        self.tcp = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
        self.udp = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        self.udp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        self.udp.bind(("::", 0))
        self.unix = socket.socket(socket.AF_UNIX)
        self.unix.bind(str(self.folder / "socket"))
        (self.folder / "socket").chmod(0o777)
        self.abstract = socket.socket(socket.AF_UNIX)
        self.abstract.bind("\0" + self.mark)
        for listener in (self.unix, self.abstract):
            listener.listen()
        for endpoint in (self.tcp, self.udp, self.unix, self.abstract):
            endpoint.setblocking(False)

    def module(self, name: str) -> bytes:
        """Return the module ``host`` for a program."""
        engine = os.environ.get("DOCKER_HOST", "").removeprefix("unix://")
        facts = {
            "NAME": name,
            "SECRET_FILE": str(self.secret_file),
            "OUTSIDE": str(self.outside),
            "PROJECT": str(PROJECT),
            "HOST_FILES": self.files,
            "ADDRESSES": self.addresses,
            "PORT": self.tcp.getsockname()[1],
            "UDP_PORT": self.udp.getsockname()[1],
            "UNIX_SOCKET": str(self.folder / "socket"),
            "ABSTRACT": self.mark,
            "ENGINE_SOCKETS": [engine] if engine else [],
            "INTERFACES": [name for _, name in socket.if_nameindex() if name != "lo"],
            "VICTIM": self.victim.pid,
            "VICTIM_MARK": self.mark,
            "PARENT": os.getpid(),
            "MEMORY": MEMORY,
            "IDLE": self.idle,
            "CORES": len(os.sched_getaffinity(0)),
            "DEVICES": DEVICES,
            "LIBRARIES": [str(path) for path in LIBRARIES],
            "INODES": {str(path): _inode(path) for path in (*LIBRARIES, *map(Path, DEVICES))},
        }
        lines = [f"{key} = {value!r}" for key, value in facts.items()]
        return (MODULE + "\n".join(lines) + "\n").encode()

    def damage(self, execution: Execution) -> list[str]:
        """Return the ways in which a program escaped, and repair the damage."""
        output = execution.stdout + execution.stderr
        found = [
            f"it knows the secret of {place}" for place, t in self.tokens.items() if t in output
        ]
        found += re.findall(r"^ESCAPED: .*", execution.stdout, flags=re.MULTILINE)
        if _marks() != self.marks:
            found.append("it changed the mode, the owner or a time of a file of the host")
            self.marks = _marks()
        found += [*self._arrivals(), *self._changed_files(), *self._system_v()]
        state = Path(f"/proc/{self.victim.pid}/stat").read_text().rpartition(")")[2].split()[0]
        if self.victim.poll() is not None or state in "TtZ":
            found.append("it reached a process of the host")
            os.kill(self.victim.pid, signal.SIGCONT)
        return found

    def _arrivals(self) -> Iterator[str]:
        for name, listener in {
            "tcp": self.tcp,
            "unix": self.unix,
            "abstract": self.abstract,
        }.items():
            with contextlib.suppress(BlockingIOError):
                listener.accept()[0].close()
                yield f"it reached a {name} socket of the host"
        with contextlib.suppress(BlockingIOError):
            self.udp.recv(100)
            yield "it reached a udp port of the host"

    def _changed_files(self) -> Iterator[str]:
        libraries = [Path(os.__file__).parent, Path(site.getusersitepackages())]
        suspects = [
            *(path for path in self.outside.iterdir() if path.name != "keep"),
            *map(Path, NOT_ON_HOST),
            *(
                found
                for folder in ("/", "/etc", "/run", "/var/tmp")
                for found in Path(folder).glob("escaped-*")
            ),
            *(found for folder in libraries for found in folder.glob("escaped_*")),
            *(folder / name for folder in libraries for name in ("bad.pth", "sitecustomize.py")),
            *PROJECT.parent.glob("escaped-*"),
        ]
        for path in suspects:
            if path.is_symlink() or path.exists():
                yield f"it left {path}"
                path.unlink()
        if self.secret_file.read_text() != self.tokens["file"]:
            yield "it changed a file of the host"
        if not (self.outside / "keep").exists():
            yield "a file of the host is gone"

    def _system_v(self) -> Iterator[str]:
        for kind in ("shm", "sem", "msg"):
            rows = Path(f"/proc/sysvipc/{kind}").read_text().splitlines()[1:]
            if any(int(row.split()[0]) == 0x6765 for row in rows):
                yield f"it left System V {kind} on the host"

    def close(self) -> None:
        """Remove everything."""
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        self.victim.kill()
        self.victim.wait()
        for endpoint in (self.tcp, self.udp, self.unix, self.abstract):
            endpoint.close()
        del os.environ[VARIABLE]
        shutil.rmtree(self.folder)


def host_files() -> dict[str, str]:
    """Return files that identify the host, with their digests."""
    names = (
        "passwd shadow group hosts hostname machine-id resolv.conf fstab os-release ssl/openssl.cnf"
    )
    found = {}
    for name in names.split():
        with contextlib.suppress(OSError):
            content = Path("/etc", name).read_bytes()
            if content:
                found[f"/etc/{name}"] = hashlib.sha256(content).hexdigest()
    return found


def addresses() -> list[str]:
    """Return the addresses of this machine."""
    found = ["127.0.0.1", "::1", "172.17.0.1"]
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        found.append(probe.getsockname()[0])
    return found


def _inode(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def _marks() -> list[tuple[int, ...]]:
    """Return the attributes of shared files that programs might change."""
    # Other programs of the host use /dev/null and /dev/full in many ways.
    found = (path.stat() for path in (*LIBRARIES, Path("/dev/zero"), Path("/dev/urandom")))
    return [(each.st_mode, each.st_uid, each.st_gid, each.st_ctime_ns) for each in found]


@functools.cache
def patience(sandbox: Any, seconds: float = TIMEOUT) -> float:
    """Return the seconds that a program gets: more where even a harmless one takes long."""
    harmless = Program("import ctypes, json", timeout=60.0)
    return seconds + 10 * max(sandbox.run(harmless).duration for _ in range(3))


def attack(sandbox: Any, path: Path, host: HostSide, timeout: float) -> list[Execution]:
    """Run a hostile program, with tight limits, in the way that it asks for.

    Raises:
        ValueError: The sandbox does not isolate: the program would harm this machine.
    """
    if not sandbox.isolated:
        raise ValueError("hostile programs run only in sandboxes that isolate")
    source, module = path.read_text(), host.module(path.stem)
    runs = re.findall(r"^# Runs: (\w+)$", source, re.MULTILINE)
    program = Program(
        source,
        files={"host.py": module},
        timeout=timeout,
        memory=MEMORY,
        output_limit=1 << 20,
        processes=32,
    )
    if runs == ["session"]:
        return hold_session(sandbox, source.split(IDLE), module, host.idle)
    if runs == ["inputs"]:
        return list(sandbox.run_tests(program, INPUTS))
    return [sandbox.run(program) for _ in range(2 if runs == ["twice"] else 1)]


def hold_session(
    sandbox: SessionSandbox, pieces: Sequence[str], module: bytes, idle: float
) -> list[Execution]:
    """Run pieces in a session, with a pause between them."""
    with contextlib.closing(sandbox.session(timeout=SESSION_SECONDS, memory=MEMORY)) as session:
        begun = session.run(MODULE_OF_SESSION.format(module), timeout=60.0)
        executions = [begun, session.run(pieces[0])]
        assert executions[0].ok, executions[0]
        for piece in pieces[1:]:
            time.sleep(idle)
            executions.append(session.run(piece))
    return executions


def benign(sandbox: Sandbox, host: HostSide) -> list[str]:
    """Run a harmless program; return the ways in which it was affected."""
    source = BENIGN.format(token=host.tokens["earlier run"])
    execution = sandbox.run(Program(source, stdin=host.tokens["earlier run"], timeout=60.0))
    expected = f'[499500, 2, "{host.tokens["earlier run"]}"]\n'
    unaffected = execution.ok and execution.stdout == expected and not execution.stderr
    return [] if unaffected else [f"the next run was affected: {execution}"]


def in_containers() -> int:
    """Return the number of processes in the containers of this process."""

    with contextlib.closing(connect()) as client:
        return sum(len(container.top()["Processes"]) for container in owned(client))


def count(backend: str) -> int:
    """Return the number of processes that a sandbox of this process has."""
    return in_containers() if backend == "docker" else len(descendants(os.getpid()))


class Before(NamedTuple):
    """The processes that exist while no program runs."""

    processes: int
    zombies: frozenset[int]

    @classmethod
    def now(cls, backend: str) -> "Before":
        """Wait until the next run's process is ready, and count."""
        counts = [count(backend)]
        while len(counts) < 20 or len(set(counts[-20:])) > 1:
            time.sleep(0.05)
            counts.append(count(backend))
        return cls(counts[-1], frozenset(_zombies()))


def _zombies() -> set[int]:
    found = set()
    for pid in descendants(os.getpid()):
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                found.add(pid)
    return found


def leftovers(backend: str, before: Before) -> list[str]:
    """Return the processes that are left after there was time to clean up."""
    end = time.monotonic() + CLEANUP_SECONDS
    while True:
        zombies = sorted(_zombies() - before.zombies)
        more = count(backend) - before.processes
        found = [f"{more} more processes"] if more > 0 else []
        found += [f"zombies: {zombies}"] if zombies else []
        if not found or time.monotonic() > end:
            return found
        time.sleep(0.01)


def header(path: Path) -> tuple[str, str]:
    """Return the aim of a program, and the sign of its success."""
    lines = path.read_text().splitlines()
    return lines[0].removeprefix("# Tries: "), lines[1].removeprefix("# Success: ")


def memory(pids: Iterable[int]) -> int:
    """Return the bytes of private memory of processes."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            found = re.findall(
                r"^Private_\w+: +(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE
            )
            total += 1024 * sum(map(int, found))
    return total


def entries(folder: str) -> int:
    """Return the number of entries in a folder, 0 if it is gone."""
    with contextlib.suppress(OSError):
        return len(list(Path(folder).iterdir()))
    return 0


class Sample(NamedTuple):
    """The resources of a sandbox after a number of runs."""

    runs: int
    processes: int
    mebibytes: float
    descriptors: int
    threads: int
    files: int
    """Entries of this process's folder for temporary files."""

    @classmethod
    def now(cls, backend: str, runs: int) -> "Sample":
        """Count the resources of this process, and of all below it."""
        pids = [os.getpid(), *descendants(os.getpid())]
        return cls(
            runs,
            count(backend),
            memory(pids) / (1 << 20),
            sum(entries(f"/proc/{pid}/fd") for pid in pids),
            sum(entries(f"/proc/{pid}/task") for pid in pids),
            entries(tempfile.gettempdir()),
        )


def soak(
    backend: str,
    sandbox: Sandbox,
    host: HostSide,
    *,
    runs: int,
    hostile: float = 0.05,
    samples: int = 10,
) -> Iterator[Sample]:
    """Run programs one after another, some of them hostile; yield samples at intervals.

    Raises:
        AssertionError: A program escaped, or affected the next run.
    """
    rng = random.Random(0)
    for done in range(1, runs + 1):
        if rng.random() < hostile:
            path = rng.choice(ESCAPES)
            for execution in attack(sandbox, path, host, timeout=0.3):
                found = host.damage(execution)
                assert found == [], f"{path.stem}: {found}"
        else:
            assert sandbox.run(Program(f"print({done})")).stdout == f"{done}\n"
        if done % (runs // samples) == 0:
            assert benign(sandbox, host) == []
            time.sleep(0.5)
            yield Sample.now(backend, done)


def table(backends: Sequence[str]) -> str:
    """Run every program in every sandbox; return the results as a Markdown table."""
    from backends import BACKENDS

    columns: dict[str, list[str]] = {}
    for name in backends:
        with contextlib.closing(HostSide()) as host:
            sandbox = BACKENDS[name](workers=1)
            benign(sandbox, host)
            benign(sandbox, host)
            before, outcomes = Before.now(name), []
            for path in ESCAPES:
                executions = attack(sandbox, path, host, patience(sandbox))
                found = [damage for each in executions for damage in host.damage(each)]
                found += [*benign(sandbox, host), *leftovers(name, before)]
                limits = [each.limit for each in executions if each.limit]
                outcomes.append("**escaped**" if found else limits[0] if limits else "held")
            columns[name] = outcomes
            sandbox.close()
    rows = [
        f"| program | what it tries | {' | '.join(columns)} |",
        "|---" * (2 + len(columns)) + "|",
    ]
    for index, path in enumerate(ESCAPES):
        cells = " | ".join(outcomes[index] for outcomes in columns.values())
        rows.append(f"| `{path.stem}` | {header(path)[0]} | {cells} |")
    return "\n".join(rows)


def write_table(page: Path, text: str) -> None:
    """Replace the table between the markers of a page."""
    before, begin, rest = page.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise SystemExit(f"{page} lacks the lines {BEGIN!r} and {END!r}.")
    page.write_text(f"{before}{begin}\n{text}\n{end}{after}")


def main() -> None:
    """Write the table, or run a soak."""
    sys.path.insert(0, str(Path(__file__).parent))
    from backends import BACKENDS, ISOLATED

    match sys.argv[1:]:
        case ["table"]:
            write_table(PROJECT / "benchmarks" / "results" / "escapes.md", table(ISOLATED))
        case ["soak", backend, runs]:
            os.environ["TMPDIR"] = tempfile.tempdir = tempfile.mkdtemp()
            host, sandbox = HostSide(), BACKENDS[backend](workers=1)
            benign(sandbox, host)
            before = Before.now(backend)
            print(Sample.now(backend, 0), flush=True)
            for sample in soak(backend, sandbox, host, runs=int(runs)):
                print(sample, flush=True)
            print("left:", leftovers(backend, before))
            sandbox.close()
            host.close()
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main()

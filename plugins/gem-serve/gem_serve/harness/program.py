"""Run a program on a machine: a home directory of its own, a deadline, and only the gateway."""

import re
import shlex
import socket
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable
from urllib.parse import urlsplit

from gem_core.errors import ConfigError, MachineError
from gem_serve.harness.errors import ProgramMissingError
from gem_serve.harness.recipe import Recipe
from gem_serve.harness.relay import Relay
from gem_workers.machine import Machine
from gem_workers.sandbox import Execution

__all__ = ["CanListen", "GatewayAddress", "ProgramRun", "folders_of", "path_of", "run_program"]

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_KEY = "a-key-that-is-not-needed"
_ESCAPE = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_LONGEST_ARGUMENT = (1 << 17) - 1

Status = Literal["ended", "failed", "timeout", "memory"]


@runtime_checkable
class CanListen(Protocol):
    """A machine on whose loopback this process can listen."""

    def listen(self, port: int = 0) -> socket.socket:
        """Return a listening socket of the machine's loopback; port 0 for any free one."""


class GatewayAddress(NamedTuple):
    """Where a program finds its model.

    Args:
        url: The URL of the episode at the gateway; with or without ``/v1`` at its end.
        model: The name of the model.
        key: The key that the program sends.
    """

    url: str
    model: str
    key: str = _KEY


@dataclass(frozen=True)
class ProgramRun:
    """What a program did.

    Args:
        program: Its name.
        status: ``ended`` with status 0, ``failed`` with another one, or killed at its deadline
            (``timeout``) or for its ``memory``.
        exit_status: The exit status, as a shell reports it.
        stdout: Its standard output; the middle of a long one is left out.
        stderr: Its standard error.
        seconds: Its wall time.
        refused: Connections that the gateway did not accept.
    """

    program: str
    status: Status
    exit_status: int
    stdout: str
    stderr: str
    seconds: float
    refused: int = 0

    def record(self) -> dict[str, Any]:
        """Return the fields, as plain data."""
        return asdict(self)

    def said(self) -> str:
        """Return the end of what it printed, for a message."""
        text = (self.stderr.strip() or self.stdout.strip())[-500:]
        return f" It printed at its end: {text}" if text else " It printed nothing."


def run_program(
    machine: Machine,
    recipe: Recipe,
    instruction: str,
    gateway: GatewayAddress,
    *,
    timeout: float,
    programs: Sequence[str] = (),
    output_limit: int = 1 << 16,
) -> ProgramRun:
    """Run a program until it ends; at its deadline, it is killed with all its descendants.

    Args:
        machine: The machine. Its user runs the program.
        recipe: How the program is started.
        instruction: What the task asks for.
        gateway: Where the gateway is.
        timeout: Seconds of wall time.
        programs: Folders of the machine in which programs are installed, before its usual ones.
        output_limit: Bytes of standard output, and of standard error, to keep.

    Raises:
        ConfigError: Nothing can listen on the loopback of such machines.
        ProgramMissingError: The machine does not have the program.
        MachineError: The machine has ended.
    """
    target = _target(gateway.url)
    with Relay(_listener(machine), target) as relay:
        home = _make_home(machine)
        try:
            filled = recipe.filled(_words(machine, instruction, gateway, home, relay.port))
            env = {"HOME": home, "PATH": path_of(programs), **filled.env}
            _write_files(machine, home, filled)
            _check_program(machine, filled, env)
            ended = machine.run(
                _command(filled), timeout=timeout, env=env, output_limit=output_limit
            )
            if ended.limit is not None:
                machine.kill_all()  # also what has left the program's tree
        finally:
            machine.run(f"rm -rf {shlex.quote(home)}", user="root", cwd="/")
    return _run_of(recipe, ended, relay.refused)


def path_of(programs: Sequence[str]) -> str:
    """Return the search path: below each folder also ``bin`` and npm's folder of programs."""
    places = [f"{one}{inner}" for one in programs for inner in ("", "/bin", "/node_modules/.bin")]
    return ":".join([*places, _PATH])


def folders_of(programs: Sequence[str]) -> list[str]:
    """Return the folders of the host that programs need: theirs, and that of a venv's Python.

    Args:
        programs: Folders in which programs are installed: with npm, in a virtual environment, or
            just the files.

    Raises:
        ConfigError: There is no such folder.
    """
    found: list[str] = []
    for one in programs:
        if not Path(one).is_dir():
            raise ConfigError(f"There is no folder {one} of programs.")
        found.append(one)
        config = Path(one, "pyvenv.cfg")
        lines = config.read_text(encoding="utf-8").splitlines() if config.is_file() else []
        homes = [line.partition("=")[2].strip() for line in lines if line.startswith("home")]
        found += [str(Path(home).parent) for home in homes if not home.startswith("/usr/")]
    return list(dict.fromkeys(found))


def _target(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    if parts.scheme != "http" or not parts.hostname:
        raise ConfigError(f"The URL of a gateway begins with http:// and a host; got {url!r}.")
    return parts.hostname, parts.port or 80


def _listener(machine: Machine) -> socket.socket:
    if not isinstance(machine, CanListen):
        raise ConfigError(
            f"A program needs a machine that this process can listen on, such as those of 'local'; "
            f"{type(machine).__name__} has no method listen."
        )
    return machine.listen()


def _make_home(machine: Machine) -> str:
    user = shlex.quote(machine.spec.user)
    script = f'mkdir -p /home && home=$(mktemp -d /home/program-XXXXXXXX) && chown {user} "$home"'
    made = machine.run(f'{script} && echo "$home"', user="root", cwd="/")
    if not made.ok:
        raise MachineError(f"The machine cannot make a home directory: {made.stderr.strip()}")
    return made.stdout.strip()


def _words(
    machine: Machine, instruction: str, gateway: GatewayAddress, home: str, port: int
) -> Mapping[str, str]:
    path = urlsplit(gateway.url).path.rstrip("/").removesuffix("/v1")
    host = f"http://127.0.0.1:{port}{path}"
    return {
        "api": f"{host}/v1",
        "host": host,
        "home": home,
        "instruction": instruction,
        "key": gateway.key,
        "model": gateway.model,
        "workdir": machine.spec.workdir,
    }


def _write_files(machine: Machine, home: str, recipe: Recipe) -> None:
    for files, mode in ((recipe.files, "600"), (recipe.executables, "700")):
        for name, content in files.items():
            place = shlex.quote(f"{home}/{name}")
            script = f'mkdir -p "$(dirname {place})" && cat > {place} && chmod {mode} {place}'
            written = machine.run(script, stdin=content, cwd="/")  # by the machine's user
            if not written.ok:
                raise MachineError(f"{home}/{name} cannot be written: {written.stderr.strip()}")


def _check_program(machine: Machine, recipe: Recipe, env: Mapping[str, str]) -> None:
    if machine.run(f"command -v {shlex.quote(recipe.program)}", env=env, cwd="/").ok:
        return
    hint = f" Install it with: {recipe.install}." if recipe.install else ""
    raise ProgramMissingError(
        f"The machine has no program {recipe.program!r} in {env['PATH']}.{hint} If it is in a "
        f"folder of its own, name the folder: --programs FOLDER."
    )


def _command(recipe: Recipe) -> str:
    """Return the command line; the shell becomes the program, so that its status is exact."""
    words = [recipe.program, *recipe.arguments]
    longest = max(len(word.encode()) for word in words)
    if longest > _LONGEST_ARGUMENT:
        raise ConfigError(f"An argument has at most {_LONGEST_ARGUMENT} bytes; got {longest}.")
    return f"exec {shlex.join(words)}"


def _run_of(recipe: Recipe, ended: Execution, refused: int) -> ProgramRun:
    status: Status = "ended" if ended.exit_status == 0 else "failed"
    if ended.limit is not None:
        status = "memory" if ended.limit == "memory" else "timeout"
    return ProgramRun(
        recipe.program.rpartition("/")[2],
        status,
        ended.exit_status,
        _plain(ended.stdout),
        _plain(ended.stderr),
        ended.duration,
        refused,
    )


def _plain(text: str) -> str:
    """Return a text without the escapes of a terminal."""
    return _ESCAPE.sub("", text)

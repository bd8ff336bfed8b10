"""``gem-core doctor``: which sandboxes and machines work here, and which plugins have a problem.

A tier works if it has run a program, an engine if it has answered, a provider of machines if one of
them has run a command: nothing is inferred.
"""

import contextlib
import ctypes
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace

import click
from rich.table import Table
from rich.text import Text

from gem_core.console import Terminal
from gem_core.errors import MachineError, SandboxError
from gem_core.options import format_option, print_json
from gem_core.plugins import default_registry, load_plugins
from gem_core.specs import Spec
from gem_sandbox.docker import connect, make_image
from gem_sandbox.image import DEFAULT_IMAGE
from gem_sandbox.warm.tiers import TIERS, why_not
from gem_workers.machine import MACHINES, MachineSpec

__all__ = ["Finding", "command", "examine"]

_CLONE_NEWUSER = 0x10000000
_LANDLOCK_CREATE_RULESET = 444
_LANDLOCK_VERSION = 1
_REMEDIES = {"local": "allow user namespaces and overlayfs, or use the provider 'docker'"}


@dataclass(frozen=True)
class Finding:
    """The state of one part or requirement of a sandbox, of a provider of machines, or of a plugin.

    Args:
        sandbox: The id of the sandbox; ``machines`` for a provider of them, ``plugins`` for a
            plugin.
        part: The part or requirement, the id of the provider, or the plugin.
        works: Whether it can be used here.
        detail: What was found, such as a version or an error.
        remedy: What to do if it does not work; empty if there is nothing to do.
    """

    sandbox: str
    part: str
    works: bool
    detail: str = ""
    remedy: str = ""


def examine() -> list[Finding]:
    """Examine all sandboxes, machines and plugins; takes a few seconds."""
    process = Finding("process", "no isolation", works=True)
    engine, *image = _docker()
    return [*_warm(), engine, *image, process, *_machines(engine), *_plugins()]


def _warm() -> Iterator[Finding]:
    requirements: dict[str, tuple[Callable[[], str], str]] = {
        "bubblewrap": (_bubblewrap, "apt-get install bubblewrap"),
        "user namespaces": (_user_namespaces, "sysctl -w kernel.unprivileged_userns_clone=1"),
        "Landlock": (_landlock, "use a kernel 5.13 or later, booted with lsm=...,landlock"),
    }
    for tier in TIERS:
        try:
            reason = why_not(tier)
        except SandboxError as error:
            reason = str(error)
        yield Finding("warm", f"tier {tier}", works=not reason, detail=reason)
    for part, (probe, remedy) in requirements.items():
        found = probe()
        yield Finding("warm", part, bool(found), found, "" if found else remedy)


def _bubblewrap() -> str:
    path = shutil.which("bwrap")
    if path is None:
        return ""
    done = subprocess.run([path, "--version"], check=False, capture_output=True, text=True)  # noqa: S603
    return done.stdout.strip() or path


def _user_namespaces() -> str:
    """Try to create one, in another process."""
    if sys.platform != "linux":
        return ""
    trial = f"import ctypes, sys; sys.exit(ctypes.CDLL(None).unshare({_CLONE_NEWUSER}) != 0)"
    command = [sys.executable, "-I", "-S", "-c", trial]
    return "can be created" if subprocess.run(command, check=False).returncode == 0 else ""  # noqa: S603


def _landlock() -> str:
    if sys.platform != "linux":
        return ""
    call = ctypes.CDLL(None).syscall
    version = call(_LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), _LANDLOCK_VERSION)
    return f"ABI {version}" if version > 0 else ""


def _docker() -> Iterator[Finding]:
    try:
        client = connect()
    except SandboxError as error:
        reason, _, remedy = str(error).partition(". ")
        yield Finding("docker", "engine", works=False, detail=reason, remedy=remedy)
        return
    with contextlib.closing(client):
        version = client.version()["Version"]
        tags = {tag for image in client.images.list() for tag in image.tags}
    yield Finding("docker", "engine", works=True, detail=f"version {version}")
    found = f"{DEFAULT_IMAGE}:latest" in tags
    remedy = (
        "" if found else "gem-core doctor --make-image, or image=... with an image that has python3"
    )
    yield Finding("docker", f"image {DEFAULT_IMAGE}", works=found, remedy=remedy)


def _machines(engine: Finding) -> Iterator[Finding]:
    """Yield the providers of machines; Docker's by its engine, as its image may have to be made."""
    for spec in default_registry().list(MACHINES):
        if spec.id == "docker":
            yield replace(engine, sandbox="machines", part="docker")
            continue
        try:
            found = _start_machine(spec)
        except Exception as error:  # noqa: BLE001 - whatever it raises, the others are reported
            remedy = _REMEDIES.get(spec.id, "")
            yield Finding("machines", spec.id, works=False, detail=str(error), remedy=remedy)
        else:
            yield Finding("machines", spec.id, works=True, detail=found)


def _start_machine(spec: Spec) -> str:
    """Start a machine and run a command; return what was found."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a provider without isolation
        provider = spec.make()
    with contextlib.closing(provider), contextlib.closing(provider.start(MachineSpec())) as machine:
        done = machine.run("bash --version")
    if not done.ok:
        raise MachineError(f"bash does not run on it: {done.stderr.strip() or done}")
    return "isolated" if provider.isolated else "no isolation"


def _plugins() -> Iterator[Finding]:
    """Yield the plugins with a problem, or a summary if there is none."""
    statuses = load_plugins().statuses
    for status in statuses:
        if status.problems:
            detail, _, remedy = status.problems[0].partition(". ")
            works = status.state == "slow"
            yield Finding("plugins", status.name, works=works, detail=detail, remedy=remedy)
    if not any(status.problems for status in statuses):
        yield Finding("plugins", "all", works=True, detail=f"{len(statuses)} found, no problem")


def _isolates(findings: Sequence[Finding]) -> bool:
    """Whether untrusted programs can be run here."""
    tiers = [f.works for f in findings if f.sandbox == "warm" and f.part.startswith("tier")]
    docker = [f.works for f in findings if f.sandbox == "docker"]
    return any(tiers) or all(docker)


def _table(findings: Sequence[Finding]) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in ("sandbox", "part", "works", "found", "remedy"):
        table.add_column(heading, no_wrap=heading in {"sandbox", "part"})
    for finding in findings:
        works = Text("yes", "green") if finding.works else Text("no", "yellow")
        table.add_row(finding.sandbox, finding.part, works, finding.detail, finding.remedy)
    return table


@click.command(epilog="\b\nExamples:\n  gem-core doctor\n  gem-core doctor --make-image")
@format_option()
@click.option(
    "--make-image",
    "making",
    is_flag=True,
    help="First make the Docker image, from this Python interpreter.",
)
@click.option(
    "--package", "packages", multiple=True, help="An installed package to include in the image."
)
def command(*, form: str, making: bool, packages: tuple[str, ...]) -> None:
    """Report which sandboxes and machines work here, and which plugins have a problem.

    Exit with status 1 if no isolated sandbox works.
    """
    if packages and not making:
        raise click.UsageError("--package chooses what --make-image puts into the image: add it.")
    if making:
        make_image(connect(), packages=packages)
    findings = examine()
    if form == "json":
        print_json([asdict(finding) for finding in findings])
    else:
        Terminal().print(_table(findings))
    if not _isolates(findings):
        sys.exit(1)

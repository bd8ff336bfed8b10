"""``gem-core doctor``: which sandboxes work on this machine, and what the others need.

Nothing is guessed: a tier works if it has run a program, an engine if it answers.
"""

import contextlib
import ctypes
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

import click
from rich.console import Console
from rich.table import Table

from gem_core.errors import SandboxError
from gem_sandbox.docker import connect, make_image
from gem_sandbox.image import DEFAULT_IMAGE
from gem_sandbox.warm.tiers import TIERS, why_not

__all__ = ["Finding", "command", "examine"]

_CLONE_NEWUSER = 0x10000000
_LANDLOCK_CREATE_RULESET = 444
_LANDLOCK_VERSION = 1


@dataclass(frozen=True)
class Finding:
    """One thing that a sandbox is, or stands on.

    Args:
        sandbox: Id of the sandbox.
        part: What was looked at.
        works: Whether it can be used here.
        detail: What was found.
        remedy: What to do if it does not work; empty if there is nothing to do.
    """

    sandbox: str
    part: str
    works: bool
    detail: str = ""
    remedy: str = ""


def examine() -> list[Finding]:
    """Look at everything; takes a few seconds."""
    return [*_warm(), *_docker(), Finding("process", "no isolation", works=True)]


def _warm() -> Iterator[Finding]:
    needs: dict[str, tuple[Callable[[], str], str]] = {
        "bubblewrap": (_bubblewrap, "apt-get install bubblewrap"),
        "user namespaces": (_user_namespaces, "sysctl -w kernel.unprivileged_userns_clone=1"),
        "Landlock": (_landlock, "a kernel from 5.13 on, booted with lsm=...,landlock"),
    }
    for tier in TIERS:
        reason = why_not(tier)
        yield Finding("warm", f"tier {tier}", works=not reason, detail=reason)
    for part, (look, remedy) in needs.items():
        found = look()
        yield Finding("warm", part, bool(found), found, "" if found else remedy)


def _bubblewrap() -> str:
    path = shutil.which("bwrap")
    if path is None:
        return ""
    said = subprocess.run([path, "--version"], check=False, capture_output=True, text=True)  # noqa: S603
    return said.stdout.strip() or path


def _user_namespaces() -> str:
    """Try one in a process of its own."""
    if sys.platform != "linux":
        return ""
    trial = f"import ctypes, sys; sys.exit(ctypes.CDLL(None).unshare({_CLONE_NEWUSER}) != 0)"
    command = [sys.executable, "-I", "-S", "-c", trial]
    return "can be made" if subprocess.run(command, check=False).returncode == 0 else ""  # noqa: S603


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
    remedy = "" if found else "gem-core doctor --make-image, or name an image that has python3"
    yield Finding("docker", f"image {DEFAULT_IMAGE}", works=found, remedy=remedy)


def _isolates(findings: Sequence[Finding]) -> bool:
    """Whether programs that nobody has read can be run here."""
    tiers = [f.works for f in findings if f.part.startswith("tier")]
    docker = [f.works for f in findings if f.sandbox == "docker"]
    return any(tiers) or all(docker)


def _table(findings: Sequence[Finding]) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in ("sandbox", "part", "works", "found", "what to do"):
        table.add_column(heading, no_wrap=heading in {"sandbox", "part"})
    for finding in findings:
        works = "[green]yes[/]" if finding.works else "[yellow]no[/]"
        table.add_row(finding.sandbox, finding.part, works, finding.detail, finding.remedy)
    return table


@click.command(epilog="\b\nExamples:\n  gem-core doctor\n  gem-core doctor --make-image")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--make-image", "making", is_flag=True, help="First make the image for Docker, of this Python."
)
@click.option("--package", "packages", multiple=True, help="A package to put into that image.")
def command(*, as_json: bool, making: bool, packages: tuple[str, ...]) -> None:
    """Say which sandboxes work here; exit status 1 if none that isolates does."""
    if making:
        make_image(connect(), packages=packages)
    findings = examine()
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        Console().print(_table(findings))
    if not _isolates(findings):
        sys.exit(1)

"""What a build takes over of this host to reach a network: names, proxies, certificates, indexes.

Nothing of it is in a layer: files are in folders of memory, and variables are those of commands.
Of files, only what everybody may read is taken, but for the settings of pip.
"""

import configparser
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gem_sandbox.machines.local.skeleton import HOSTS

__all__ = ["HOST_FOLDER", "BuildNetwork", "build_network", "name_files"]

HOST_FOLDER = "/dev/shm/host"  # noqa: S108 - of the machine
"""Where a build has what is not in its layers."""
_PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "no_proxy", "all_proxy")
_CERTIFICATES = (
    "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT", "GIT_SSL_CAINFO",
    "NODE_EXTRA_CA_CERTS", "CARGO_HTTP_CAINFO", "AWS_CA_BUNDLE",
)  # fmt: skip
"""Variables by which programs find certificates; a build has all of them if this host has one."""
_PIP_KEYS = (
    "index-url", "extra-index-url", "trusted-host", "proxy", "timeout", "default-timeout",
    "retries",
)  # fmt: skip
_PIP_FILES = ("/etc/pip.conf", "/etc/xdg/pip/pip.conf", "~/.pip/pip.conf", "~/.config/pip/pip.conf")
_OF_APT = re.compile(
    r'Acquire::(?:(?:https?|ftp)::\S*|Retries|Check-Date|Check-Valid-Until|ForceIPv[46]) "(?!/).*";'
)
_LARGEST_NAMES, _LARGEST = 1 << 15, 1 << 22


class BuildNetwork(NamedTuple):
    """The files and variables of a build that has a network.

    Args:
        env: Variables of its commands.
        files: Files of its machine, by their paths.
    """

    env: dict[str, str]
    files: dict[str, bytes]


def name_files() -> dict[str, bytes]:
    """Return the files by which this host finds others, as far as everybody may read them."""
    servers = _read(Path("/etc/resolv.conf"), _LARGEST_NAMES)
    names = HOSTS + (_read(Path("/etc/hosts"), _LARGEST_NAMES) or b"")
    return {"/etc/hosts": names} | ({} if servers is None else {"/etc/resolv.conf": servers})


def build_network() -> BuildNetwork:
    """Return what a build takes over of this host."""
    env = {
        name: os.environ[name]
        for lower in _PROXIES
        for name in (lower, lower.upper())
        if name in os.environ
    }
    env |= _pip_settings()
    files: dict[str, bytes] = {}
    for name in _CERTIFICATES:
        content = _read(Path(os.environ.get(name) or "/"), _LARGEST)
        if content is not None:
            files[f"{HOST_FOLDER}/certificates.pem"] = content
            env |= dict.fromkeys(_CERTIFICATES, f"{HOST_FOLDER}/certificates.pem")
            break
    files[f"{HOST_FOLDER}/apt.conf"] = "\n".join(_apt_settings(env)).encode() + b"\n"
    env["APT_CONFIG"] = f"{HOST_FOLDER}/apt.conf"
    return BuildNetwork(env, files)


def _read(path: Path, limit: int) -> bytes | None:
    """Return a file that everybody may read; None if there is none, or it is too large."""
    try:
        status = path.stat()
        readable = status.st_mode & 0o004 and path.is_file() and status.st_size <= limit
        return path.read_bytes() if readable else None
    except OSError:
        return None


def _pip_settings() -> dict[str, str]:
    """Return pip's settings as variables: those of files, then those of variables.

    Indexes in folders of this host are left out, as a build does not see them.
    """
    own = os.environ.get("PIP_CONFIG_FILE")
    found: dict[str, str] = {}
    for name in (*_PIP_FILES, *([own] if own else [])):
        parser = configparser.RawConfigParser(strict=False)
        try:
            parser.read(Path(name).expanduser(), encoding="utf-8")
        except (configparser.Error, OSError, ValueError):
            continue
        for section in ("global", "install"):
            if parser.has_section(section):
                found |= dict(parser.items(section))
    found |= {
        name.removeprefix("PIP_").lower().replace("_", "-"): value
        for name, value in os.environ.items()
        if name.startswith("PIP_")
    }
    settings = ((key, _reachable(found[key])) for key in _PIP_KEYS if key in found)
    return {f"PIP_{key.upper().replace('-', '_')}": value for key, value in settings if value}


def _reachable(value: str) -> str:
    return " ".join(word for word in value.split() if not word.startswith(("file:", "/")))


def _apt_settings(env: dict[str, str]) -> Iterator[str]:
    """Yield the lines of apt's settings.

    Apt stays the root of the machine, as that is the only user where no root started the machine.
    """
    yield 'APT::Sandbox::User "root";'
    program = shutil.which("apt-config")
    if program:
        command = [program, "dump", "--format", '%F "%v";%n', "Acquire"]
        said = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        yield from (line for line in said.stdout.splitlines() if _OF_APT.fullmatch(line))
    if "SSL_CERT_FILE" in env:
        yield f'Acquire::https::CaInfo "{env["SSL_CERT_FILE"]}";'

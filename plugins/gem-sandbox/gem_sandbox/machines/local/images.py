"""Images that were built from a Dockerfile: what it wrote over the root that it starts from.

They are kept in the user's cache, by a hash of all that they are made of.
"""

import contextlib
import fnmatch
import functools
import hashlib
import io
import os
import platform
import tarfile
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gem_core.machine import MachineSpec
from gem_sandbox.machines.build import Recipe, read_recipe
from gem_sandbox.machines.host_machine import HostMachine

__all__ = ["BuiltImage", "cache_folder", "find_or_build"]

_FORMAT = "2"
_DIGEST = hashlib.sha256().digest_size
_LIMIT = 1 << 32


@dataclass(frozen=True)
class BuiltImage:
    """An image.

    Args:
        key: The hash of all that it is made of.
        base: The folder with the root that it starts from; empty for the default.
        env: Environment variables of its commands.
        archive: What was written, as ``archive.pack`` writes it.
    """

    key: str
    base: str
    env: Mapping[str, str]
    archive: bytes

    @functools.cached_property
    def names(self) -> frozenset[str]:
        """The names of the members of the archive."""
        with tarfile.open(fileobj=io.BytesIO(self.archive)) as archive:
            return frozenset(archive.getnames())


def cache_folder() -> Path:
    """Return the folder that holds the images."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "gem-core" / "machines"


def find_or_build(
    folder: str,
    images: Mapping[str, str],
    start: Callable[[MachineSpec], HostMachine],
    *,
    skip_prelude: bool,
) -> BuiltImage:
    """Return the image of a folder with a Dockerfile, from the cache if it is there.

    Args:
        folder: The folder.
        images: Folders with a root file system, by patterns of the names in ``FROM``.
        start: Starts a machine to build on.
        skip_prelude: Leave out commands that only install what is there.

    Raises:
        ConfigError: The Dockerfile cannot be carried out.
        MachineError: The machine failed.
    """
    recipe = read_recipe(folder)
    found = (path for name, path in images.items() if fnmatch.fnmatchcase(recipe.base, name))
    base = next(found, "")
    parts = (_FORMAT, platform.machine(), base, str(skip_prelude), recipe.digest)
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    file = cache_folder() / key
    archive = _read(file)
    if archive is None:
        archive = _build(recipe, base, start, skip_prelude=skip_prelude)
        _write(file, archive)
    return BuiltImage(key, base, recipe.env, archive)


def _build(
    recipe: Recipe, base: str, start: Callable[[MachineSpec], HostMachine], *, skip_prelude: bool
) -> bytes:
    with start(MachineSpec(image=base, workdir="/", disk=_LIMIT)) as machine:
        recipe.carry_out(machine, skip_prelude=skip_prelude)
        machine.kill_all()
        with os.fdopen(machine.pack(None, _LIMIT), "rb") as file:
            return file.read()


def _read(file: Path) -> bytes | None:
    """Return what is in the cache; None if it is missing or damaged."""
    try:
        data = file.read_bytes()
    except OSError:
        return None
    archive = data[_DIGEST:]
    return archive if hashlib.sha256(archive).digest() == data[:_DIGEST] else None


def _write(file: Path, archive: bytes) -> None:
    """Write to the cache, as a whole or not at all; a cache that cannot be written is no error."""
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as made:
            try:
                made.write(hashlib.sha256(archive).digest() + archive)
                made.flush()
                Path(made.name).replace(file)
            except BaseException:
                Path(made.name).unlink(missing_ok=True)
                raise

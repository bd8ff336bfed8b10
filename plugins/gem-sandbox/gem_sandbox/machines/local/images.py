"""Images that were built from a Dockerfile: what it wrote over the root that it starts from.

They are kept in the user's cache, by a hash of all that they are made of; so is what each command
of the Dockerfile left, from which a build goes on when only later lines have changed.
"""

import contextlib
import fnmatch
import hashlib
import io
import platform
import tarfile
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gem_core.caches import cache_folder
from gem_sandbox.machines.base import snapshot_of_files
from gem_sandbox.machines.build import Recipe, read_recipe
from gem_sandbox.machines.host_machine import HostMachine
from gem_workers.machine import MachineSnapshot, MachineSpec

__all__ = ["BuiltImage", "find_or_build"]

_CACHE = "machines"
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
        workdir: The directory in which its commands start.
        user: The user that runs its commands.
        archive: What was written, as ``archive.pack`` writes it.
    """

    key: str
    base: str
    env: Mapping[str, str]
    workdir: str
    user: str
    archive: bytes

    # A cached_property of Python 3.11 has a lock, which a fork would inherit.
    _names: list[frozenset[str]] = field(default_factory=list, init=False, repr=False)

    @property
    def names(self) -> frozenset[str]:
        """The names of the members of the archive."""
        if not self._names:
            with tarfile.open(fileobj=io.BytesIO(self.archive)) as opened:
                self._names.append(frozenset(opened.getnames()))
        return self._names[0]


def find_or_build(
    folder: str,
    images: Mapping[str, str],
    start: Callable[[MachineSpec, MachineSnapshot | None], HostMachine],
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
    keys = recipe.keys("\0".join((_FORMAT, platform.machine(), base, str(skip_prelude))))
    archive = _read(keys[-1])
    if archive is None:
        archive = _build(recipe, keys, base, start, skip_prelude=skip_prelude)
    return BuiltImage(keys[-1], base, recipe.env, recipe.workdir, recipe.user, archive)


def _build(
    recipe: Recipe,
    keys: Sequence[str],
    base: str,
    start: Callable[[MachineSpec, MachineSnapshot | None], HostMachine],
    *,
    skip_prelude: bool,
) -> bytes:
    """Build an image from the last step on that is in the cache; keep what each command leaves."""
    found = ((done, _read(keys[done - 1])) for done in range(len(keys) - 1, 0, -1))
    done, archive = next((one for one in found if one[1] is not None), (0, None))
    snapshot = None if archive is None else snapshot_of_files("local", archive)
    with start(MachineSpec(image=base, workdir="/", disk=_LIMIT), snapshot) as machine:
        for number in recipe.carry_out(machine, skip_prelude=skip_prelude, done=done):
            archive = _keep(machine, keys[number - 1])
            if number == len(keys):
                return archive
        return _keep(machine, keys[-1])


def _keep(machine: HostMachine, key: str) -> bytes:
    """Return an archive of the changes of a machine, and put it into the cache."""
    machine.kill_all()
    archive = machine.pack_changes(_LIMIT)
    _write(key, archive)
    return archive


def _read(key: str) -> bytes | None:
    """Return an archive of the cache; None if it is missing or damaged."""
    try:
        data = (cache_folder(_CACHE) / key).read_bytes()
    except OSError:
        return None
    archive = data[_DIGEST:]
    return archive if hashlib.sha256(archive).digest() == data[:_DIGEST] else None


def _write(key: str, archive: bytes) -> None:
    """Write to the cache, as a whole or not at all; it is optional."""
    file = cache_folder(_CACHE) / key
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

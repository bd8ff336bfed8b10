"""Images that were built from a Dockerfile: layers over the root that it starts from.

Each command of the Dockerfile makes a layer, which has a hash of all that it depends on: the root,
the steps up to this one, and the files that these copy. So a build goes on where only later lines
have changed, and images whose first lines are equal share their layers.
"""

import os
import platform
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Literal, Protocol, Self

from gem_sandbox.machines.build import read_recipe
from gem_sandbox.machines.local.bases import Base, Bases
from gem_sandbox.machines.local.host_network import HOST_FOLDER, BuildNetwork, build_network
from gem_sandbox.machines.local.layers import Layers
from gem_workers.machine import Machine, MachineSpec

__all__ = ["BuildMachine", "BuiltImage", "find_or_build"]

_FORMAT = "3"
_LIMIT = 10 << 30
_MEMORY = 8 << 30
_PROCESSES = 4096
_PROGRAMS = ("/usr/bin", "/usr/lib", "/usr/share/doc")
_SHOWN = 200


@dataclass(frozen=True)
class BuiltImage:
    """An image.

    Args:
        base: The root that it starts from.
        env: Environment variables of its commands.
        workdir: The directory in which its commands start.
        user: The user that runs its commands.
        layers: What was written over the base, lowest first.
    """

    base: Base
    env: Mapping[str, str]
    workdir: str
    user: str
    layers: tuple[Path, ...] = ()

    @property
    def key(self) -> str:
        """What tells it from what is built of the same folder later; empty if nothing was built."""
        return self.layers[-1].name if self.layers else ""


class BuildMachine(Machine, Protocol):
    """A machine on which a Dockerfile is carried out."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def pack_layer(self, file: IO[bytes], limit: int) -> None:
        """End all processes, and write an archive of what was written over the image."""


def find_or_build(
    folder: str,
    bases: Bases,
    found: Layers,
    start: Callable[[MachineSpec, BuiltImage], BuildMachine],
    *,
    network: Literal["host", "none"],
    skips_installed: bool,
    timeout: float,
    mount_points: Sequence[str] = (),
) -> BuiltImage:
    """Return the image of a folder with a Dockerfile, of layers from the cache if they are there.

    Args:
        folder: The folder.
        bases: Root file systems for the names in ``FROM``; others stand for this host's programs.
        found: Where layers are found and kept.
        start: Starts a machine of an image to build on.
        network: The network of the commands.
        skips_installed: Whether nothing is installed that is there.
        timeout: Seconds of wall time that it may take; what is done by then is kept.
        mount_points: Where machines have further folders of the host.

    Raises:
        ConfigError: The Dockerfile cannot be carried out.
        MachineError: The machine failed, or a layer cannot be kept.
    """
    recipe = read_recipe(folder)
    base = bases.find(recipe.base) or Base(recipe.base, is_exact=False)
    recipe = replace(
        recipe, base_env=base.env, base_workdir=base.workdir or "/", base_user=base.user or "root"
    )
    image = BuiltImage(base, recipe.env, recipe.workdir, recipe.user)
    start_key = [_FORMAT, platform.machine(), *_identity(base), str(skips_installed), *mount_points]
    keys = recipe.keys("\0".join(start_key))
    done, chain = len(keys), found.chain(keys[-1])
    while done and chain is None:
        done -= 1
        chain = found.chain(keys[done - 1]) if done else ()
    image = replace(image, layers=chain or ())
    spec = MachineSpec(
        workdir="/",
        disk=_LIMIT,
        memory=_MEMORY,
        processes=_PROCESSES,
        cpus=os.cpu_count() or 1,
        network=network,
    )
    host = build_network() if network == "host" else BuildNetwork({"PIP_RETRIES": "0"}, {})
    end = time.monotonic() + timeout
    while done < len(keys):
        with start(spec, image) as machine:
            for path, content in {f"{HOST_FOLDER}/build": b"", **host.files}.items():
                machine.write(path, content)
            left = end - time.monotonic()
            steps = recipe.carry_out(machine, env=host.env, done=done, timeout=max(left, 0.1))
            done = next(steps, len(keys))
            with tempfile.TemporaryFile() as archive:
                machine.pack_layer(archive, _LIMIT)
                step = recipe.steps[done - 1]
                line = f"{step.name} {step.arguments}".strip()
                added = found.add(keys[done - 1], image.layers, archive, step=line[:_SHOWN])
        image = replace(image, layers=added)
    return image


def _identity(base: Base) -> tuple[str, ...]:
    """Return what tells a root from others, also from one that was at its place before.

    Its time of modification is that of the archive it came from; nobody can set that of change.
    """
    if not base.folder:  # installing a package changes these folders of the host
        return tuple(str(Path(one).stat().st_ctime_ns) for one in _PROGRAMS if Path(one).is_dir())
    place = Path(base.folder)
    status = place.stat()
    return str(place.resolve()), str(status.st_ino), str(status.st_ctime_ns)

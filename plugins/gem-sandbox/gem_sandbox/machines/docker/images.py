"""Images of an engine: found, pulled, built from a Dockerfile, or made from the host's programs."""

import hashlib
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gem_core.errors import MachineError
from gem_core.records import json_value
from gem_sandbox.machines.context import context_digest
from gem_sandbox.machines.docker.default_image import (
    DEFAULT_IMAGE,
    default_environment,
    write_default_image,
)
from gem_sandbox.machines.docker.engine import ContainerEngine, said_by_engine, told_by_engine
from gem_workers.machine import MachineSpec
from gem_workers.untrusted_files import read_bytes

__all__ = ["Image", "find_or_make"]

_BUILT = "gem-machine-build"
_LAST = 15
_BUILD_TIMEOUT = 3600


@dataclass(frozen=True)
class Image:
    """An image that the engine has.

    Args:
        name: Its name.
        env: Environment variables of its commands.
        workdir: The directory in which its commands start.
        user: The user that runs its commands.
    """

    name: str
    env: Mapping[str, str]
    workdir: str
    user: str


def find_or_make(engine: ContainerEngine, spec: MachineSpec, default: str) -> Image:
    """Return the image of a spec; pull, build or make it if the engine does not have it.

    Args:
        engine: The engine.
        spec: The spec.
        default: The image of a spec that names none.

    Raises:
        ConfigError: The folder has no Dockerfile, or cannot be read.
        MachineError: There is no such image, or it cannot be built.
    """
    folder = Path(spec.build).expanduser()
    name = f"{_BUILT}:{_key(folder)}" if spec.build else spec.image or default
    with engine.preparing(name):  # others wait for this image, and look again
        found = _find(engine, name)
        if found is None:
            if spec.build:
                _build(engine, folder, name)
            elif name == DEFAULT_IMAGE:
                _make_default(engine)
            else:
                _pull(engine, name)
            found = _find(engine, name)
    if found is None:
        raise MachineError(f"The engine has no image {name!r}.")
    config = found["Config"]
    variables = (each.partition("=") for each in config.get("Env") or ())
    env = {variable: value for variable, _, value in variables}
    own = "/root" if name == DEFAULT_IMAGE else "/"
    return Image(name, env, config.get("WorkingDir") or own, config.get("User") or "root")


def _key(folder: Path) -> str:
    """Return a hash of the Dockerfile, which may be ignored as a file, and of all files."""
    parts = read_bytes(folder, "Dockerfile"), context_digest(folder).encode()
    return hashlib.sha256(b"".join(parts)).hexdigest()[:32]


def _find(engine: ContainerEngine, name: str) -> dict[str, Any] | None:
    api = engine.api
    import docker.errors  # noqa: PLC0415 - optional

    with told_by_engine(f"The image {name!r} cannot be looked up"):
        try:
            found: dict[str, Any] = api.inspect_image(name)
        except docker.errors.ImageNotFound:
            return None
        return found


def _pull(engine: ContainerEngine, name: str) -> None:
    from docker.utils import parse_repository_tag  # noqa: PLC0415 - optional

    repository, tag = parse_repository_tag(name)
    what = f"The engine has no image {name!r} and cannot pull it"
    try:
        answers = engine.api.pull(repository, tag=tag or "latest", stream=True, decode=True)
        _check(what, answers)
    except MachineError:
        raise
    except Exception as error:
        raise MachineError(f"{what}: {said_by_engine(error)}") from error


def _build(engine: ContainerEngine, folder: Path, name: str) -> None:
    what = f"{folder / 'Dockerfile'} cannot be built"
    with told_by_engine(what):
        answers = engine.api.build(
            path=str(folder), tag=name, rm=True, forcerm=True, decode=True, timeout=_BUILD_TIMEOUT
        )
        _check(what, answers)
    # A file of the image that is changed within the second of its own time, and keeps its size, is
    # no change for the engine. Wait until that second is over.
    time.sleep(1.0)


def _check(what: str, answers: Iterable[Mapping[str, Any]]) -> None:
    """Read what the engine says about its work; raise ``MachineError`` if it fails."""
    lines: list[str] = []
    has_failed = False
    for answer in answers:  # to the end, which closes the connection
        said = answer.get("stream") or answer.get("error") or ""
        lines += [line for line in said.splitlines() if line.strip()]
        del lines[:-_LAST]
        has_failed |= "error" in answer
    if has_failed:
        raise MachineError(f"{what}: " + "\n".join(lines))


def _make_default(engine: ContainerEngine) -> None:
    changes = [f"ENV {name}={value}" for name, value in default_environment().items()]
    with tempfile.TemporaryFile() as file, told_by_engine("The default image cannot be made"):
        write_default_image(file)
        file.seek(0)
        response = engine.api.import_image_from_stream(
            iter(lambda: file.read(1 << 20), b""),
            repository=DEFAULT_IMAGE,
            tag="latest",
            changes=changes,
        )
        answer = json_value(response.strip().splitlines()[-1])
        if "status" not in answer:
            raise MachineError(f"The engine did not take the default image: {answer}")

"""The files of a container, which the engine reads and writes."""

import contextlib
import io
import tarfile
import time
from collections.abc import Iterator, Mapping
from typing import Any

from gem_core.errors import MachineError
from gem_sandbox.machines.docker.engine import ContainerEngine, told_by_engine

__all__ = ["ENDED", "ContainerFiles", "Stat", "untouched"]

ENDED = "The machine has ended"
_FOLDER, _LINK, _SPECIAL = 1 << 31, 1 << 27, 0x8F280000
"""Bits of modes, as the engine's language counts them."""
_DELETED = 2


class Stat:
    """What there is at a path.

    Args:
        found: The engine's answer.
    """

    def __init__(self, found: Mapping[str, Any]) -> None:
        mode = int(found["mode"])
        self.is_folder, self.is_link = bool(mode & _FOLDER), bool(mode & _LINK)
        self.is_file = not mode & _SPECIAL
        self.size = int(found["size"])
        self.target = str(found["linkTarget"])
        """Where a link leads, after all further links."""


class ContainerFiles:
    """The files of a container, whether it runs or not.

    Args:
        engine: The engine.
        container: The container's id.
    """

    def __init__(self, engine: ContainerEngine, container: str = "") -> None:
        self._engine = engine
        self.id = container

    def _archive(self, method: str, path: str, **options: Any) -> Any:
        place = f"/containers/{self.id}/archive"
        return self._engine.request(method, place, params={"path": path}, **options)

    def stat(self, path: str) -> Stat | None:
        """Return the entry at a path; None if there is none."""
        import docker.utils  # noqa: PLC0415 - optional

        with told_by_engine(path):
            found = self._archive("HEAD", path)
            if found.ok:
                header = found.headers["x-docker-container-path-stat"]
                return Stat(docker.utils.decode_json_header(header))
            self._check_there()
            return None

    def _check_there(self) -> None:
        import docker.errors  # noqa: PLC0415 - optional

        try:
            self._engine.api.inspect_container(self.id)
        except docker.errors.NotFound as error:
            raise MachineError(f"{ENDED}.") from error

    @contextlib.contextmanager
    def archive(self, path: str) -> Iterator[tarfile.TarFile]:
        """Open an archive of a file or folder; members are named after the end of the path."""
        with told_by_engine(path), contextlib.ExitStack() as stack:
            plain = {"Accept-Encoding": "identity"}
            found = self._archive("GET", path, stream=True, headers=plain)
            stack.callback(found.close)
            if not found.ok:
                self._check_there()
                raise MachineError(f"{path!r} does not exist.")
            yield stack.enter_context(tarfile.open(fileobj=found.raw, mode="r|"))

    def unpack(self, archive: bytes) -> None:
        """Write the members of an archive below the root; its users and groups are numbers."""
        with told_by_engine("The files cannot be written"):
            self._engine.api.put_archive(self.id, "/", archive)

    def read(self, path: str, limit: int) -> bytes:
        """Return the content of a regular file, or more than the limit if it has more."""
        found = self.stat(path)
        if found is not None and found.is_link:
            path = found.target
            found = self.stat(path)
        if found is None or not found.is_file:
            raise MachineError(f"{path!r} is not a regular file, or does not exist.")
        with self.archive(path) as archive:
            member = archive.next()
            file = None if member is None else archive.extractfile(member)
            return b"" if file is None else file.read(limit + 1)

    def write(self, path: str, data: bytes, mode: int) -> None:
        """Write a file, and create its folders; a file that is there keeps its owner."""
        found = self.stat(path)
        if found is not None and found.is_link:
            path = found.target
            found = self.stat(path)
        if found is not None and not found.is_file:
            raise MachineError(f"{path!r} is not a regular file.")
        member = tarfile.TarInfo(path.lstrip("/"))
        if found is not None:
            with self.archive(path) as archive:
                before = archive.next()
                if before is not None:
                    member.uid, member.gid = before.uid, before.gid
        member.size, member.mode, member.mtime = len(data), mode, int(time.time())
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            archive.addfile(member, io.BytesIO(data))
        self.unpack(packed.getvalue())

    def pack(self, path: str, limit: int) -> bytes:
        """Return an archive of a file or folder."""
        packed, total = io.BytesIO(), 0
        with self.archive(path) as source, tarfile.open(fileobj=packed, mode="w|") as target:
            for member in source:
                total += member.size
                if total > limit:
                    raise MachineError(f"{path!r}: the files have more than {limit} bytes.")
                target.addfile(member, source.extractfile(member) if member.isreg() else None)
        return packed.getvalue()

    def changes(self) -> tuple[set[str], set[str]]:
        """Return the paths that are not as in the image, and those of them that were deleted.

        What was deleted may be there again.
        """
        with told_by_engine("The changes of files are not known"):
            found = self._engine.api.diff(self.id) or []
        deleted = {each["Path"] for each in found if each["Kind"] == _DELETED}
        return {each["Path"] for each in found}, deleted

    def commit(self, name: str, tag: str) -> None:
        """Make an image of the files."""
        with self._engine.starting, told_by_engine("No snapshot can be taken"):
            self._engine.api.commit(self.id, repository=name, tag=tag)


@contextlib.contextmanager
def untouched(engine: ContainerEngine, image: str) -> Iterator[ContainerFiles]:
    """Create a container that never runs, for the files of an image."""
    with told_by_engine(f"The image {image!r} cannot be read"):
        made = engine.api.create_container(image, ["-"], labels=engine.labels())
    try:
        yield ContainerFiles(engine, made["Id"])
    finally:
        with contextlib.suppress(Exception):  # the engine may have ended
            engine.api.remove_container(made["Id"], force=True, v=True)

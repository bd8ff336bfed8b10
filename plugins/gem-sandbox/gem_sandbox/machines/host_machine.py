"""Machines of this host, whose files are opened here: their descriptors are passed around."""

import functools
import os
from abc import abstractmethod
from collections.abc import Callable, Iterable

from gem_core.errors import MachineError
from gem_sandbox.machines.base import BaseMachine
from gem_sandbox.machines.changes import choose
from gem_sandbox.machines.selection import Record
from gem_workers.machine import FileChange

__all__ = ["HostMachine"]


class HostMachine(BaseMachine):
    """The base class of machines whose files can be opened by this process."""

    @abstractmethod
    def open(self, path: str, flags: int, mode: int = 0o644) -> int:
        """Return a descriptor of a regular file of the machine.

        Raises:
            MachineError: It cannot be opened.
        """

    @abstractmethod
    def pack_changes(
        self, limit: int, choose: Callable[[Iterable[Record]], bytes] | None = None
    ) -> bytes:
        """Return an archive of what was written.

        Args:
            limit: Bytes of all files in it.
            choose: Returns for each file how it is chosen; None to pack all.

        Raises:
            MachineError: The files have more bytes than the limit, or cannot be read.
        """

    @abstractmethod
    def find(self, name: str) -> tuple[str, bool]:
        """Return the path of a member of an archive of all that was written.

        Returns:
            The path, empty if the member is not a file of the machine; whether the image has it.
        """

    def write_file(self, path: str, data: bytes, mode: int) -> None:
        descriptor = self.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
        except OSError as error:
            raise MachineError(f"{path!r} cannot be written: {error.strerror}.") from error

    def read_file(self, path: str, limit: int) -> bytes:
        try:
            with os.fdopen(self.open(path, os.O_RDONLY), "rb") as file:
                if os.fstat(file.fileno()).st_size > limit:
                    raise MachineError(f"{path!r} has more than {limit} bytes.")
                return file.read(limit + 1)
        except OSError as error:
            raise MachineError(f"{path!r} cannot be read: {error.strerror}.") from error

    def save_files(self, keep: Callable[[FileChange], bool] | None) -> bytes:
        chosen = None if keep is None else functools.partial(choose, keep=keep, find=self.find)
        return self.pack_changes(self.spec.disk << 1, chosen)

"""Machines of this host, whose files are opened here: their descriptors are passed around."""

import os
from abc import abstractmethod
from collections.abc import Callable

from gem_core.errors import MachineError
from gem_core.machine import FileChange
from gem_sandbox.machines.base import BaseMachine
from gem_sandbox.machines.changes import filtered

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
    def pack(self, path: str | None, limit: int) -> int:
        """Return a descriptor of an archive of a file or folder, or of all that was written.

        Raises:
            MachineError: It does not exist, or has more bytes than the limit.
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
        with os.fdopen(self.open(path, os.O_RDONLY), "rb") as file:
            return file.read(limit + 1)

    def save_files(self, keep: Callable[[FileChange], bool] | None) -> bytes:
        with os.fdopen(self.pack(None, self.spec.disk << 1), "rb") as file:
            data = file.read()
        return data if keep is None else filtered(data, keep, self.find)

"""What a sandbox, session or machine holds, so that it can be released without its owner."""

from collections.abc import Callable
from typing import Generic, TypeVar

from gem_core.errors import ClosedError, GemError
from gem_core.lifetimes import Lock

__all__ = ["Holder"]

T = TypeVar("T")


class Holder(Generic[T]):
    """A place for one resource at a time; after its end, there is none any more.

    Args:
        release: Releases a resource that is replaced, or held at the end.
        what: The owner in messages, such as ``"machine"``.
        error: What is raised when a resource comes after the end.
    """

    def __init__(
        self, release: Callable[[T], object], *, what: str, error: type[GemError] = ClosedError
    ) -> None:
        self._release = release
        self._what, self._error = what, error
        self.lock = Lock()
        """Held while the resource is replaced or taken out."""
        self.value: T | None = None
        self._has_ended = False

    def put(self, value: T) -> None:
        """Hold a resource in place of the one that is held, which is released.

        Raises:
            GemError: The owner has ended meanwhile, and so the resource is released; of the class
                ``error``.
        """
        with self.lock:
            has_ended = self._has_ended
            old: T | None = value
            if not has_ended:
                old, self.value = self.value, value
        if old is not None:
            self._release(old)
        if has_ended:
            raise self._error(f"This {self._what} is closed.")

    def drop(self) -> None:
        """Release the resource, if one is held; there may be another one later."""
        with self.lock:
            old, self.value = self.value, None
        if old is not None:
            self._release(old)

    def end(self) -> None:
        """Release the resource, if one is held; no other can be held."""
        with self.lock:
            self._has_ended = True
        self.drop()

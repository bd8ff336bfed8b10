"""Keep the beginning and the end of an output of unknown length."""

__all__ = ["HeadAndTail"]


class HeadAndTail:
    """An output of which the middle is dropped when it has more than a limit.

    Args:
        limit: Bytes to keep: half of them from the beginning, and half from the end.
    """

    def __init__(self, limit: int) -> None:
        self._half = max(1, limit // 2)
        self._head = bytearray()
        self._tail = bytearray()
        self.left_out = 0
        """Bytes that were dropped."""

    def add(self, data: bytes) -> None:
        """Add bytes at the end."""
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        excess = len(self._tail) - self._half
        if excess > self._half:
            self._drop(excess)

    def _drop(self, excess: int) -> None:
        self.left_out += excess
        del self._tail[:excess]

    def text(self) -> str:
        """Return the bytes that were kept as text, with a line in the place of those dropped."""
        self._drop(max(0, len(self._tail) - self._half))
        head, tail = (bytes(part).decode("utf-8", "replace") for part in (self._head, self._tail))
        return f"{head}\n[{self.left_out} bytes left out]\n{tail}" if self.left_out else head + tail

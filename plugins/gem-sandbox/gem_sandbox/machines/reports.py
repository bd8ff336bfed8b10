"""Find reports of ours in a stream that hostile programs write to as well."""

import re
from collections.abc import Iterator

__all__ = ["Reports"]


class Reports:
    """Separates the reports in a stream from its text, however the stream is cut into pieces.

    What follows a mark and is not a report is text, like the mark itself.

    Args:
        mark: The bytes before each report.
        report: What a report is, after the mark.
        longest: Bytes of the longest report; as many are kept while a report is not complete.
    """

    def __init__(self, mark: bytes, report: re.Pattern[bytes], longest: int) -> None:
        self._mark, self._report, self._longest = mark, report, longest
        self._rest = b""

    def take(self, data: bytes) -> Iterator[bytes | re.Match[bytes]]:
        """Yield the text and the reports of a piece of the stream, in order."""
        stream, at = self._rest + data, 0
        while (place := stream.find(self._mark, at)) >= 0:
            if place > at:
                yield stream[at:place]
            at = place + len(self._mark)
            if found := self._report.match(stream, at):
                yield found
                at = found.end()
            elif len(stream) - at < self._longest and self._mark not in stream[at:]:
                self._rest = stream[place:]  # the report has not arrived as a whole
                return
            else:
                yield self._mark
        end = len(stream) - self._begun(stream)
        self._rest = stream[max(at, end) :]
        if end > at:
            yield stream[at:end]

    def _begun(self, stream: bytes) -> int:
        """Return how many bytes at the end of a stream may be the beginning of a mark."""
        most = min(len(stream), len(self._mark) - 1)
        return next((n for n in range(most, 0, -1) if self._mark.startswith(stream[-n:])), 0)

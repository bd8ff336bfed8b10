"""Detects strings that end a reply."""

from collections.abc import Sequence
from typing import Any

__all__ = ["StopStrings"]

_BROKEN = "\N{REPLACEMENT CHARACTER}"


class StopStrings:
    """Finds stop strings at the end of token sequences, mostly without decoding them.

    Args:
        tokenizer: The tokenizer of transformers.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._texts: dict[int, str] = {}

    def end(self, ids: Sequence[int], stop: Sequence[str]) -> bool:
        """Return whether the last token completes one of the strings.

        Args:
            ids: The tokens of the reply so far, at least one.
            stop: The strings; the token that completes one may contain further text.
        """
        last = self._texts.get(ids[-1])
        if last is None:
            last = self._texts[ids[-1]] = self._decode(ids[-1:])
        for string in stop:
            # A token with a part of a character decodes to the replacement character.
            if string[-1] not in last and _BROKEN not in last:
                continue
            # A token has at least one byte; one more, as decoding may drop a leading space.
            if string in self._decode(ids[-len(string.encode()) - 1 :]):
                return True
        return False

    def _decode(self, ids: Sequence[int]) -> str:
        text: str = self._tokenizer.decode(
            list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        return text

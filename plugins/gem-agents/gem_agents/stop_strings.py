"""Whether a reply has come to one of the strings that end it."""

from collections.abc import Sequence
from typing import Any

__all__ = ["StopStrings"]

_BROKEN = "\N{REPLACEMENT CHARACTER}"


class StopStrings:
    """Looks for strings at the end of token sequences, mostly without decoding them.

    Args:
        tokenizer: The tokenizer of transformers.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._texts: dict[int, str] = {}

    def end(self, ids: Sequence[int], stop: Sequence[str]) -> bool:
        """Tell whether the last token completes one of the strings.

        Args:
            ids: The tokens of the reply so far, at least one.
            stop: The strings; in a token that completes one, more may follow it.
        """
        last = self._texts.get(ids[-1])
        if last is None:
            last = self._texts[ids[-1]] = self._decode(ids[-1:])
        for string in stop:
            # A token that is only a part of a character shows as one that is broken.
            if string[-1] not in last and _BROKEN not in last:
                continue
            # A token is at least one byte; one more, as the first may lose a space.
            if string in self._decode(ids[-len(string.encode()) - 1 :]):
                return True
        return False

    def _decode(self, ids: Sequence[int]) -> str:
        text: str = self._tokenizer.decode(
            list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        return text

"""The text of sampled tokens."""

from collections.abc import Sequence
from typing import Any

__all__ = ["TokenText"]


class TokenText:
    """Decodes replies.

    Args:
        tokenizer: A tokenizer of transformers.
        end_ids: Tokens that end a reply; None for the tokenizer's end of a sequence.
    """

    def __init__(self, tokenizer: Any, end_ids: frozenset[int] | None = None) -> None:
        self._tokenizer = tokenizer
        self.end_ids = frozenset([tokenizer.eos_token_id]) if end_ids is None else end_ids

    def of(self, ids: Sequence[int]) -> str:
        """Return the text of a reply, special tokens included, without the token that ended it."""
        if ids and ids[-1] in self.end_ids:
            ids = ids[:-1]
        text: str = self._tokenizer.decode(
            ids, skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        return text

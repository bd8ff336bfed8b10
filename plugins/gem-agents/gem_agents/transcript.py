"""The tokens of one episode: what was sampled stays as it was sampled.

A template renders the whole chat as text. Where that text begins with the prompt and the reply of
the turn before, only the rest is made into tokens and put behind those that are there. So a reply
keeps the tokens that the model chose, also where the tokenizer would have chosen others.
"""

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

__all__ = ["Once", "Prompt", "Transcript", "encode_further", "make_anew"]

Once = Callable[[Hashable, Callable[[], Any]], Any]
"""Returns what a function makes; it need not be called where the key has been there before."""


def make_anew(_: Hashable, make: Callable[[], Any]) -> Any:
    """Call the function each time."""
    return make()


class Prompt(NamedTuple):
    """What the model is given.

    Args:
        ids: All tokens.
        new: Those that are new in this turn.
        extends: Whether the others are all that the model was given and gave before.
    """

    ids: list[int]
    new: list[int]
    extends: bool


class Transcript:
    """Tokens of an episode.

    Args:
        tokenizer: The tokenizer of transformers.
        once: Remembers the tokens of texts.
    """

    def __init__(self, tokenizer: Any, once: Once = make_anew) -> None:
        self._tokenizer = tokenizer
        self._once = once
        self._text = ""
        self._ids: list[int] = []

    def prompt(self, text: str) -> Prompt:
        """Return a rendered prompt as tokens."""
        extends = bool(self._ids) and text.startswith(self._text)
        added = text[len(self._text) :] if extends else text
        new = list(self._once((added, extends), lambda: self._encode(added, further=extends)))
        self._ids = self._ids + new if extends else new
        self._text = text
        return Prompt(list(self._ids), new, extends)

    def _encode(self, text: str, *, further: bool) -> list[int]:
        if further:
            return encode_further(self._tokenizer, text)
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False)
        return ids

    def said(self, ids: list[int]) -> None:
        """Add what the model sampled, with the token that ended it."""
        self._ids = self._ids + ids
        self._text += self.decode(ids)

    def decode(self, ids: list[int]) -> str:
        """Return tokens as text, special ones too."""
        text: str = self._tokenizer.decode(
            ids, skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        return text


def encode_further(tokenizer: Any, text: str) -> list[int]:
    """Return the tokens of a text that stands behind other text.

    Many tokenizers put a space before what begins a text. A reply's end goes before it for that
    reason, which some of them also let swallow the spaces that follow, as in a whole chat.

    Args:
        tokenizer: The tokenizer of transformers.
        text: The text.
    """
    end, end_id = tokenizer.eos_token, tokenizer.eos_token_id
    if end is not None:
        ids: list[int] = tokenizer.encode(end + text, add_special_tokens=False)
        if ids and ids[0] == end_id:
            return ids[1:]
    plain: list[int] = tokenizer.encode(text, add_special_tokens=False)
    return plain

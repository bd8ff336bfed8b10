"""The tokens of one episode, in which replies keep the tokens that were sampled.

A template renders the whole chat as text. If this text begins with the prompt and the reply of the
previous turn, only the rest is tokenised and appended. A reply therefore keeps the tokens that the
model sampled, even if the tokenizer would have chosen others.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from gem_core.content import Image

__all__ = ["PromptTokens", "Transcript", "encode_continuation"]

_SHOWN = 40
"""Characters of a text that a message shows."""


class PromptTokens(NamedTuple):
    """The tokens of a turn's prompt.

    Args:
        ids: All token ids.
        new: The token ids that are new in this turn.
        extends: Whether the prompt begins with all earlier tokens of the episode.
    """

    ids: list[int]
    new: list[int]
    extends: bool


class Transcript:
    """The tokens of an episode.

    Args:
        tokenizer: A tokenizer of transformers.
        vision: Encodes texts with images; None for a model that reads text only.

    Attributes:
        shown: The text of the last prompt. It may be replaced by another one, if every prompt that
            continues it differs from the present text in the same way.
    """

    def __init__(self, tokenizer: Any, vision: Any = None) -> None:
        self._tokenizer = tokenizer
        self._vision = vision
        self._images = 0
        self.shown = ""
        self._said = ""
        self._ids: list[int] = []

    def extends(self, text: str) -> bool:
        """Return whether there are tokens, and a rendered prompt begins with all of them."""
        known = len(self.shown)
        is_prompt = bool(self._ids) and text.startswith(self.shown)
        return is_prompt and text.startswith(self._said, known)

    def prompt(self, text: str, images: Sequence[Image] = ()) -> PromptTokens:
        """Return the tokens of a rendered prompt.

        Args:
            text: The whole prompt, with a mark for each image.
            images: All of its images, in order.
        """
        extends = self.extends(text)
        added = text[len(self.shown) + len(self._said) :] if extends else text
        shown = images[self._images :] if extends else images
        new = self._encode(added, shown, continues=extends)
        self._ids = self._ids if extends else []
        self._ids += new
        self.shown, self._said, self._images = text, "", len(images)
        return PromptTokens(list(self._ids), new, extends)

    def _encode(self, text: str, images: Sequence[Image], *, continues: bool) -> list[int]:
        if images:
            found: list[int] = self._vision.encode(text, images, continues=continues)
            return found
        if continues:
            return encode_continuation(self._tokenizer, text)
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False)
        return ids

    def difference(self, text: str) -> str:
        """Describe where a text first differs from the tokens so far."""
        known = self.shown + self._said
        pairs = enumerate(zip(known, text, strict=False))
        place = next((at for at, (one, other) in pairs if one != other), len(text))
        before, after = (repr(one[place : place + _SHOWN]) for one in (known, text))
        return f"at character {place} it was {before} and is now {after}"

    def add_reply(self, ids: list[int]) -> None:
        """Append the sampled tokens of a reply, including the token that ended it."""
        self._ids += ids
        self._said += self.decode(ids)

    def decode(self, ids: list[int]) -> str:
        """Return the text of tokens, special tokens included."""
        text: str = self._tokenizer.decode(
            ids, skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        return text


def encode_continuation(tokenizer: Any, text: str) -> list[int]:
    """Return the tokens of a text that follows other text.

    Many tokenizers add a space at the beginning of a text. The text is therefore encoded after the
    end-of-sequence token. Some tokenizers also strip spaces after this token, as in a whole chat.

    Args:
        tokenizer: A tokenizer of transformers.
        text: The text.
    """
    end, end_id = tokenizer.eos_token, tokenizer.eos_token_id
    if end is not None:
        ids: list[int] = tokenizer.encode(end + text, add_special_tokens=False)
        if ids and ids[0] == end_id:
            return ids[1:]
    plain: list[int] = tokenizer.encode(text, add_special_tokens=False)
    return plain

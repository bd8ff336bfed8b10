"""English words for the games, loaded on first use.

The package contains two lists, so that a seed gives the same word in every installation: the
*common* list (150 words of 3 letters, 300 of each length from 4 to 8, fewer of 9 to 12) and the
*long* list (about 23,000 words of 3 to 15 letters, including the common ones). ``data/README.md``
gives their sources and licence. All words are in capitals, as the games show them.
"""

import functools
import pkgutil

__all__ = ["longest_word", "word_set", "words", "words_between", "words_of_length"]


def longest_word(*, hardcore: bool = False) -> int:
    """Return the length of the longest word in the common list, or the long one if ``hardcore``."""
    return 15 if hardcore else 12


@functools.cache
def words(*, hardcore: bool = False) -> tuple[str, ...]:
    """Return the common list, or the long one if ``hardcore``, in alphabetical order."""
    name = "long" if hardcore else "common"
    data = pkgutil.get_data(__package__, f"data/{name}_words.txt") or b""
    return tuple(data.decode("ascii").upper().split())


@functools.cache
def word_set(*, hardcore: bool = False) -> frozenset[str]:
    """Return the set of words of the common list, or of the long one if ``hardcore``."""
    return frozenset(words(hardcore=hardcore))


@functools.cache
def words_between(shortest: int, longest: int, *, hardcore: bool = False) -> tuple[str, ...]:
    """Return the words of ``shortest`` to ``longest`` letters, in alphabetical order."""
    return tuple(word for word in words(hardcore=hardcore) if shortest <= len(word) <= longest)


def words_of_length(length: int, *, hardcore: bool = False) -> tuple[str, ...]:
    """Return the words of ``length`` letters, in alphabetical order."""
    return words_between(length, length, hardcore=hardcore)

"""The words of a text, as BM25 compares them: without case, accents and endings."""

import re
import threading
import unicodedata

import Stemmer

__all__ = ["words"]

_WORD = re.compile(r"\w+")
_COMMON = """\
a about an and are as at be been but by can did do does for from had has have he her him his
how i if in into is it its no not of on or s she such t than that the their them then there
these they this to was we were what when where which who whom whose why will with you"""
_NOT_COUNTED = frozenset(_COMMON.split())


class _OfThread(threading.local):
    """A stemmer for each thread; one serves one at a time."""

    def __init__(self) -> None:
        self.stem = Stemmer.Stemmer("english").stemWords


_of_thread = _OfThread()


def words(text: str) -> list[str]:
    """Return the stems of the words of a text, without those that say nothing of its subject."""
    plain = text.lower()
    if not plain.isascii():
        decomposed = unicodedata.normalize("NFKD", plain)
        plain = "".join(char for char in decomposed if not unicodedata.combining(char))
    stems: list[str] = _of_thread.stem(
        [word for word in _WORD.findall(plain) if word not in _NOT_COUNTED]
    )
    return stems

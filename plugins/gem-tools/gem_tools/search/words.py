"""Splits a text into the words that BM25 compares: without case, accents and endings."""

import re
import threading
import unicodedata

import Stemmer

__all__ = ["words"]

_WORD = re.compile(r"\w+")
_STOP_WORDS = """\
a about an and are as at be been but by can did do does for from had has have he her him his
how i if in into is it its no not of on or s she such t than that the their them then there
these they this to was we were what when where which who whom whose why will with you"""
_STOP_SET = frozenset(_STOP_WORDS.split())


class _Local(threading.local):
    """A stemmer for each thread, because stemmers are not thread-safe."""

    def __init__(self) -> None:
        self.stem = Stemmer.Stemmer("english").stemWords


_local = _Local()


def words(text: str) -> list[str]:
    """Return the stems of the words of a text, without stop words."""
    plain = text.lower()
    if not plain.isascii():
        decomposed = unicodedata.normalize("NFKD", plain)
        plain = "".join(char for char in decomposed if not unicodedata.combining(char))
    stems: list[str] = _local.stem([word for word in _WORD.findall(plain) if word not in _STOP_SET])
    return stems

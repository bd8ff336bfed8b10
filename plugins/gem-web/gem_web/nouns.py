"""The nouns of a title, by which WebShop tells whether two products are of the same kind.

There are two noun finders. ``words`` needs nothing: it drops the words of ``data/not_nouns.txt``,
which are function words and adjectives, and words with endings of adjectives. This suits titles,
as nearly all of their words are nouns. ``spacy`` is the one of the published rewards: the tagger
``en_core_web_sm`` of spaCy, which has to be installed.
"""

import functools
import re
from collections.abc import Callable
from importlib.resources import files
from typing import Literal

from gem_core.errors import ConfigError, near_names

__all__ = ["NounFinder", "find_nouns"]

NounFinder = Literal["words", "spacy"]
_MODEL = "en_core_web_sm"
_TAGS = frozenset({"NOUN", "PROPN"})
_WORD = re.compile(r"[^\W_]+(?:['’.&-][^\W_]+)*")
_NOT_NOUNS = frozenset((files("gem_web") / "data" / "not_nouns.txt").read_text("utf-8").split())
_ADJECTIVE_ENDINGS = (
    "able",
    "ible",
    "ful",
    "less",
    "ous",
    "ish",
    "ly",
    "ive",
    "proof",
    "resistant",
)


def find_nouns(finder: str) -> Callable[[str], frozenset[str]]:
    """Return the function that returns the nouns of a title, in lower case.

    Args:
        finder: ``words`` or ``spacy``.

    Raises:
        ConfigError: There is no such finder, or spaCy or its model is not installed.
    """
    if finder == "words":
        return _by_words
    if finder == "spacy":
        return _by_spacy(_MODEL)
    raise ConfigError(
        f"nouns must be 'words' or 'spacy'; got {finder!r}."
        f"{near_names(str(finder), ('words', 'spacy'))}"
    )


@functools.lru_cache(maxsize=16_384)
def _by_words(title: str) -> frozenset[str]:
    return frozenset(word for word in _WORD.findall(title.lower()) if _may_be_noun(word))


def _may_be_noun(word: str) -> bool:
    return (
        word not in _NOT_NOUNS
        and not word[0].isdigit()
        and not (len(word) > 5 and word.endswith(_ADJECTIVE_ENDINGS))
    )


@functools.cache
def _by_spacy(model: str) -> Callable[[str], frozenset[str]]:
    try:
        import spacy  # noqa: PLC0415 - an extra, and it takes seconds

        tagger = spacy.load(model, disable=["ner", "lemmatizer", "parser"])
    except (ImportError, OSError) as error:
        raise ConfigError(
            f"nouns='spacy' needs spaCy and its model {model} ({error}): "
            f"pip install 'gem-web[spacy]', then python -m spacy download {model}."
        ) from error

    @functools.lru_cache(maxsize=16_384)
    def nouns(title: str) -> frozenset[str]:
        return frozenset(token.text.lower() for token in tagger(title) if token.pos_ in _TAGS)

    return nouns

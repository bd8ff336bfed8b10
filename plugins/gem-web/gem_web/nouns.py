"""The nouns of a title, by which WebShop tells whether two products are of the same kind.

There are two noun finders. ``words`` needs nothing: it drops what is not a noun by lists and by
endings, which suits titles, as nearly all of their words are nouns. ``spacy`` is the one of the
published rewards: the tagger ``en_core_web_sm`` of spaCy, which has to be installed.
"""

import functools
import re
from collections.abc import Callable
from typing import Literal

from gem_core.errors import ConfigError, near_names

__all__ = ["NounFinder", "find_nouns"]

NounFinder = Literal["words", "spacy"]
_MODEL = "en_core_web_sm"
_TAGS = frozenset({"NOUN", "PROPN"})
_WORD = re.compile(r"[^\W_]+(?:['’.&-][^\W_]+)*")
_FUNCTION_WORDS = """\
a about above across after against all along also am among an and any are around as at be because
been before behind being below beneath beside between beyond both but by can could did do does
down during each either every few for from had has have he her hers him his how i if in inside into
is it its just less many may me might mine more most much must my near neither no nor not of off on
once one only onto or other our ours out outside over own per she should since so some such than
that the their theirs them then there these they this those through to too toward under until up
upon us very via was we were what when where which while who whom whose why will with within
without would yet you your yours w two three four five six seven eight nine ten"""
_ADJECTIVES = """\
adjustable adult antique authentic automatic available best big black blue breathable bright broad
brown casual cheap classic clean clear closed cold comfortable compact compatible complete cool
cordless cute daily dark deep deluxe digital dirty double dry dual durable easy electric elegant
elastic extra false fancy fast firm flat flexible foldable formal free fresh full funny gentle
genuine gold good great green grey gray heavy high hot huge ideal indoor invisible large last light
lightweight little long loose low lovely main major manual matte medium mini minimalist modern
multiple natural new nice novel old open orange organic original outdoor perfect permanent personal
pink plain plastic plus polished popular portable pretty professional pure purple quick quiet real
red removable reusable rich round royal rustic safe sexy sharp shiny short simple single slim small
smart smooth soft solid special square stable standard steady sticky still stretchy strong sturdy
super sweet tall thick thin tight tiny top total traditional true unique universal unisex upper used
vintage warm washable waterproof wearable wet white whole wide wild wireless wooden yellow young"""
_NOT_NOUNS = frozenset(f"{_FUNCTION_WORDS} {_ADJECTIVES}".split())
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

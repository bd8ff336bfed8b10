# /// script
# requires-python = ">=3.11"
# dependencies = ["english-words==2.0.2", "wordfreq==3.1.1"]
# ///
"""Generate the word lists that the games ship: ``gem_games/data/{common,long}_words.txt``.

A word must be in Webster's Second International (the list ``web2`` of english-words), in which
proper names are capitalised, and frequent enough in wordfreq. Both lists are alphabetical, with one
lower-case word per line. The games read these files, so that a seed gives the same word in every
installation; run this only to change them::

    uv run plugins/gem-games/scripts/make_words.py
"""

import math
from collections.abc import Callable, Iterable
from pathlib import Path

__all__ = ["DATA", "make_lists", "write"]

DATA = Path(__file__).parents[1] / "gem_games" / "data"

COMMON_COUNT = {3: 150, 4: 300, 5: 300, 6: 300, 7: 300, 8: 300}
"""The number of words of each length in the common list, which are the most frequent ones."""
COMMON_ZIPF = 4.3
"""The minimum Zipf frequency of longer common words (to 12 letters): 20 per million words."""
LONG_ZIPF = 2.5
"""The minimum Zipf frequency of the long list (3 to 15 letters): once in 3 million words."""

# Words that are frequent only as names or abbreviations, found by reading the common list.
NAMES = frozenset(
    """
    abu aka amy ann atlantic ave ben bob boston cal canada catholic christ christian colorado cos
    dan don est gen german henry japan jay jersey joe jordan ken kim las lee mac mar martin
    michigan mike min non pacific peter pro rep rev rio rob russia sam sec smith sri ted tho til
    tom trump twitter vol yea york
    """.split()  # noqa: SIM905 - a list of quoted words would be four times as long
)

# Words that a game should not show: obscenities, slurs, and words that may hurt a player.
UNFIT = frozenset(
    """
    anal anus arse ass asses bastard bitch bitchy bloody bollocks boob booby bugger bum
    buttock buttocks chink clit clitoris cock condom coolie coon crap cum dago damn damned
    darkie darky dick dildo dyke ejaculate ejaculation erection erotic fag fart gash genital
    genitalia genitals goddamn gook gyp gypsy harlot homo honky hooker horny
    incest incestuous jap kike knockers kraut lewd lynch midget
    mongol mongoloid mulatto negress negro nipple nude nymphomania octoroon orgasm orgy
    paki pansy pecker pederast pederasty penis phallic phallus pickaninny piss pimp poof porn
    prick prostitute prostitution pube pubic puss pussy quadroon queer rape raper rapist rectum
    redskin retard retarded sambo scrotum semen sex sexes sexual sexuality sexually sexy
    skank slave slaver slavery spastic sperm spic squaw strumpet suicide suicidal testes
    testicle testicles testicular tit titties titty tits tranny turd twat urinate urine vag vagina
    vaginal vulva wench wetback whitey wop yid
    """.split()  # noqa: SIM905 - see above
)
UNFIT_PARTS = (
    "bastard",
    "bitch",
    "cunt",
    "fagg",
    "fellat",
    "fornicat",
    "fuck",
    "jigaboo",
    "masturb",
    "molest",
    "nazi",
    "nigg",
    "pedophil",
    "shit",
    "slut",
    "sodom",
    "wank",
    "whor",
)


def make_lists() -> tuple[list[str], list[str]]:
    """Return the common list and the long list, which includes the common one."""
    import english_words  # type: ignore[import-untyped]  # noqa: PLC0415 - only needed here
    import wordfreq  # noqa: PLC0415 - only needed here

    dictionary = english_words.get_english_words_set(["web2"])
    frequency = wordfreq.get_frequency_dict("en", "large")

    def zipf(word: str) -> float:
        return math.log10(frequency.get(word, 1e-12)) + 9

    words = [word for word in dictionary if _is_playable(word)]
    common = _common(words, zipf)
    capitalised = {word.lower() for word in dictionary if word[:1].isupper()}
    rare = {
        word
        for word in words
        if 3 <= len(word) <= 15 and zipf(word) >= LONG_ZIPF and word not in capitalised
    }
    return sorted(common), sorted(rare | common)


def _is_playable(word: str) -> bool:
    if not (word.isascii() and word.isalpha() and word.islower()) or word in NAMES | UNFIT:
        return False
    return not any(part in word for part in UNFIT_PARTS)


def _common(words: Iterable[str], zipf: Callable[[str], float]) -> set[str]:
    by_rank = sorted(words, key=lambda word: (-zipf(word), word))
    common: set[str] = set()
    for length in range(3, 13):
        ranked = [word for word in by_rank if len(word) == length]
        frequent = [word for word in ranked if zipf(word) >= COMMON_ZIPF]
        common.update(ranked[: COMMON_COUNT[length]] if length in COMMON_COUNT else frequent)
    return common


def write() -> None:
    """Write both files."""
    for name, words in zip(("common", "long"), make_lists(), strict=True):
        text = "".join(f"{word}\n" for word in words)
        (DATA / f"{name}_words.txt").write_text(text, encoding="ascii", newline="\n")


if __name__ == "__main__":
    write()

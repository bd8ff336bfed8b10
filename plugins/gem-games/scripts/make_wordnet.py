# /// script
# requires-python = ">=3.11"
# ///
"""Generate the extract of WordNet that WikiGame ships: ``gem_games/data/wordnet.tsv.gz``.

It reads the database files of WordNet 3.0 (``data.noun``, ``index.noun``, ``cntlist.rev``), which
are in Debian's package wordnet-base and in https://wordnetcode.princeton.edu/3.0/. The extract has
the nouns with the most occurrences in WordNet's own corpus, and all concepts above them. Each line
has a title, the definition and the numbers of the linked lines, with tabs between them. The game
reads this file, so that a seed gives the same pages in every installation; run this only to
change it::

    python plugins/gem-games/scripts/make_wordnet.py /usr/share/wordnet
"""

import gzip
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["DATA", "Synset", "make_rows", "write"]

DATA = Path(__file__).parents[1] / "gem_games" / "data"
SIZE = 3000
"""The number of concepts."""
MOST_LINKS = 60
"""The largest number of links of a concept; those to the most frequent concepts are kept."""

UP = {"@", "@i"}
RELATED = {"~", "~i", "#p", "%p", "#m", "%m", "#s", "%s"}
"""The pointers that become links: narrower concepts, wholes and parts."""

# Words that a game should not show: obscenities, slurs, and words that may hurt a player.
UNFIT = re.compile(
    r"\b(arse|ass|bastard|bitch|blowjob|breast|clitoris|cock|coitus|copulat|crap|cunt|damn|"
    r"ejaculat|erotic|excrement|faeces|feces|fellat|fornicat|fuck|genital|harlot|homosexual|"
    r"incest|intercourse|kike|masturbat|nazi|negro|nigg|nipple|nude|obscen|orgasm|penis|"
    r"piss|porn|prostitut|pubic|rape|rapist|rectum|redskin|semen|sex|shit|slave|slur|slut|sodom|"
    r"sperm|suicid|testi|turd|urin|vagina|vulva|whore)",
    re.IGNORECASE,
)


@dataclass
class Synset:
    """A concept.

    Args:
        words: Its words, the usual one first.
        gloss: Its definition and examples.
        pointers: Pairs of a symbol and the offset of another noun.
        count: Its occurrences in WordNet's corpus.
    """

    words: list[str]
    gloss: str
    pointers: list[tuple[str, str]]
    count: int = 0

    @property
    def definition(self) -> str:
        """The gloss without its examples."""
        return self.gloss.split('; "')[0].strip()

    @property
    def parents(self) -> list[str]:
        """The offsets of the broader concepts."""
        return [offset for symbol, offset in self.pointers if symbol in UP]


def _read(folder: Path) -> tuple[dict[str, Synset], dict[str, list[str]]]:
    """Return the nouns by offset, and the offsets by word, its most frequent sense first."""
    synsets: dict[str, Synset] = {}
    by_key: dict[tuple[str, int, int], Synset] = {}
    for line in _lines(folder / "data.noun"):
        head, _, gloss = line.partition(" | ")
        parts = head.split(" ")
        count = int(parts[3], 16)
        words = [word.replace("_", " ") for word in parts[4 : 4 + 2 * count : 2]]
        rest = parts[5 + 2 * count :]
        pointers = [
            (symbol, offset)
            for symbol, offset, kind in zip(rest[::4], rest[1::4], rest[2::4], strict=False)
            if kind == "n"
        ]
        synset = synsets[parts[0]] = Synset(words, gloss.strip(), pointers)
        for word, number in zip(words, parts[5 : 5 + 2 * count : 2], strict=True):
            by_key[word.lower(), int(parts[1]), int(number, 16)] = synset
    senses: dict[str, list[str]] = {}
    for line in _lines(folder / "index.noun"):
        parts = line.split()
        senses[parts[0].replace("_", " ")] = parts[-int(parts[2]) :]
    for line in _lines(folder / "cntlist.rev"):
        key, _, count = line.split()[:3]
        word, _, sense = key.partition("%")
        kind, file, number = map(int, sense.split(":")[:3])
        if kind == 1 and (found := by_key.get((word.replace("_", " ").lower(), file, number))):
            found.count += int(count)
    return synsets, senses


def _lines(path: Path) -> Iterator[str]:
    with path.open(encoding="latin-1") as file:
        yield from (line for line in file if not line.startswith(" "))


def _chosen(synsets: Mapping[str, Synset]) -> list[str]:
    """Return the offsets of the most frequent concepts and of all above them."""
    fit = {
        offset: synset
        for offset, synset in synsets.items()
        if not UNFIT.search(synset.gloss) and not any(map(UNFIT.search, synset.words))
    }
    chosen: dict[str, None] = {}
    for offset in sorted(fit, key=lambda one: (-fit[one].count, one)):
        above = [one for one in _with_parents(fit, offset) if one not in chosen]
        if len(chosen) + len(above) <= SIZE:
            chosen.update(dict.fromkeys(above))
    return sorted(chosen)


def _with_parents(synsets: Mapping[str, Synset], offset: str) -> Iterator[str]:
    waiting, seen = [offset], set()
    while waiting:
        offset = waiting.pop()
        if offset in synsets and offset not in seen:
            seen.add(offset)
            yield offset
            waiting += synsets[offset].parents


def _titles(synsets: Mapping[str, Synset], chosen: Iterable[str]) -> dict[str, str]:
    """Return a title for each concept; one whose word is shared names another word of it.

    The other word is a synonym, or the usual word of a broader concept: ``bank (slope)``.
    """
    chosen = list(chosen)
    by_word = defaultdict(list)
    for offset in chosen:
        by_word[synsets[offset].words[0].lower()].append(offset)
    titles: dict[str, str] = {}
    for offsets in by_word.values():
        first = max(offsets, key=lambda one: synsets[one].count)
        for offset in offsets:
            word = synsets[offset].words[0]
            titles[offset] = word if offset == first else f"{word} ({_hint(synsets, offset)})"
    return titles


def _hint(synsets: Mapping[str, Synset], offset: str) -> str:
    synset = synsets[offset]
    others = [word for word in synset.words[1:] if word.lower() != synset.words[0].lower()]
    above = [synsets[parent].words[0] for parent in synset.parents if parent in synsets]
    return (others + above + ["concept"])[0]


_TOKEN = re.compile(r"[a-z]+(?:['-][a-z]+)*")


def _named(
    definition: str, senses: Mapping[str, list[str]], chosen: Mapping[str, int]
) -> list[int]:
    """Return the concepts that a definition names, by pairs of words before single ones."""
    words = _TOKEN.findall(definition.lower())
    found, position = [], 0
    while position < len(words):
        for length in (3, 2, 1):
            phrase = " ".join(words[position : position + length])
            number = _sense(phrase, senses, chosen)
            if number is not None and len(phrase) > 3:
                found.append(number)
                break
        else:
            length = 1
        position += length
    return found


def _sense(phrase: str, senses: Mapping[str, list[str]], chosen: Mapping[str, int]) -> int | None:
    """Return the concept of the first sense of a phrase, in the singular if it is a plural."""
    for word in (phrase, phrase.removesuffix("s"), phrase.removesuffix("es")):
        if word in senses:
            return chosen.get(senses[word][0])
    return None


def make_rows(folder: Path) -> list[tuple[str, str, list[int]]]:
    """Return title, definition and links of each concept.

    Args:
        folder: The folder of WordNet's database.
    """
    synsets, senses = _read(folder)
    offsets = _chosen(synsets)
    numbers = {offset: number for number, offset in enumerate(offsets)}
    titles = _titles(synsets, offsets)
    rows = []
    for number, offset in enumerate(offsets):
        synset = synsets[offset]
        links = _named(synset.definition, senses, numbers)
        links += [numbers[one] for one in synset.parents if one in numbers]
        below = [one for symbol, one in synset.pointers if symbol in RELATED and one in numbers]
        below.sort(key=lambda one: -synsets[one].count)
        links += [numbers[one] for one in below]
        unique = [one for one in dict.fromkeys(links) if one != number]
        text = synset.definition[0].upper() + synset.definition[1:].rstrip(".") + "."
        if len(synset.words) > 1:
            text = f"{text} Also called {', '.join(synset.words[1:])}."
        rows.append((titles[offset], text, unique[:MOST_LINKS]))
    return rows


def write(folder: Path) -> None:
    """Write the file."""
    rows = make_rows(folder)
    text = "".join(
        f"{title}\t{definition}\t{' '.join(map(str, links))}\n" for title, definition, links in rows
    )
    (DATA / "wordnet.tsv.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    write(Path(sys.argv[1]))

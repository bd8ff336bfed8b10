"""The words from which the names in invented encyclopedias are made.

The lists in ``SPLIT`` are halved: worlds for training use one half and those for testing the
other. Every title contains a word of such a list, so no title occurs in both.
"""

from collections.abc import Sequence

__all__ = ["SPLIT", "SPLITS", "WORDS", "half"]

SPLITS = ("train", "test")
"""The names of the halves."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


SPLIT = {
    "place": _words(
        "Al Ban Bel Bor Brin Cal Cor Dal Dun El Fal Fen Gar Gil Hal Har Hod Ist Jor Kel Kir Lan "
        "Lim Lor Mar Mel Mor Nar Nor Oran Os Pel Quar Ral Ros Sal Sel Tal Tor Tres Ul Val Vel Vin "
        "Wen Wes Yar Zel"
    ),
    "family": _words(
        "Abel Ander Bar Bern Bess Cald Carn Cress Dorn Drav Eber Ellis Fair Ferr Gold Grim Hart "
        "Hask Inger Jess Kass Kest Lamb Lund Mad Marl Neth Nord Orl Ott Pasc Perr Quill Rand Rosk "
        "Sand Stav Thorn Trev Urs Vand Vest Wald Wick Yard York Zand Zim"
    ),
    "quality": _words(
        "Amber Ancient Bitter Blue Bright Broken Burning Crimson Dancing Dark Distant Divided "
        "Drowned Empty Endless Faithful First Forgotten Frozen Gentle Gilded Golden Green Hidden "
        "Hollow Idle Iron Last Little Lonely Long Lost Mirrored Narrow Patient Quiet Restless "
        "Scarlet Second Secret Silent Silver Sleeping Stolen Sunken Third Wandering White"
    ),
}
"""Lists that are halved; the names of places and families begin with these."""

WORDS = {
    "place": _words(
        "bridge burg bury chester combe dale den fell field ford gate ham haven holm hurst ley "
        "mere mond moor mouth port row stead ton wick wood"
    ),
    "country": _words("avia eria esia ia inia land mark onia ora ovia"),
    "family": _words(
        "a ack an ard ater berg by el en er ert ford gard il in ing is low man mer ner o on or "
        "ov ow ski son stein strom ton us well win"
    ),
    "she": _words(
        "Ada Alma Bera Cora Dela Edda Elin Faye Greta Hana Ilva Ines Jona Karin Leda Lina Mara "
        "Mira Nela Oda Petra Rhea Runa Sela Tessa Thea Una Vera Wilma Ysa"
    ),
    "he": _words(
        "Aron Axel Bram Cato Dario Edgar Emil Felix Galen Hugo Igor Ivan Jasper Karl Leon Lukas "
        "Marek Milo Nils Oskar Pavel Quint Rolf Simon Teo Tomas Ulf Viktor Walter Yorick"
    ),
    "thing": _words(
        "Bells Birds Bridge Candle Castle Clock Crown Door Dream Feast Fire Forest Garden Gate "
        "Guest Harbour Harvest Heron Horse House Island Journey Key King Lamp Letter Mill Mirror "
        "Moon Morning Mountain Orchard Painter Promise Queen Rain River Road Room Sea Season Shore "
        "Song Stranger Tower Tree Voyage Wall Well Window Winter"
    ),
    "side": _words("Upper Lower East West North South New Old Great Little"),
    "region": _words("north south east west centre highlands lowlands interior"),
}
"""Lists that all worlds use."""

ARTS = {
    "painter": ("painting", "painted"),
    "composer": ("opera", "composed"),
    "novelist": ("novel", "wrote"),
    "poet": ("poem", "wrote"),
    "playwright": ("play", "wrote"),
    "historian": ("history", "wrote"),
    "sculptor": ("statue", "carved"),
    "astronomer": ("treatise", "wrote"),
    "botanist": ("treatise", "wrote"),
    "architect": ("building", "designed"),
}
"""Professions with the kind of their works, and the verb."""
OTHERS = ("explorer", "general", "merchant", "physician", "judge", "navigator", "engineer")
"""Professions without works."""
TOWNS = ("port", "market town", "mining town", "fishing town", "garrison town", "mill town", "spa")
ORGANISATIONS = {
    "academy": "{town} Academy",
    "university": "University of {town}",
    "museum": "{town} Museum",
    "orchestra": "{town} Orchestra",
    "theatre": "{town} Theatre",
    "library": "Library of {town}",
    "publishing house": "{family} Press",
    "trading company": "{family} Company",
    "observatory": "{town} Observatory",
    "guild": "Guild of {town}",
}
"""Kinds of organisations with their names."""
SCHOOLS = ("academy", "university")
KEEPERS = ("museum", "library", "theatre", "orchestra", "university")
EVENTS = {
    "battle": "Battle of {town}",
    "treaty": "Treaty of {town}",
    "fire": "Great Fire of {town}",
    "fair": "{town} Fair",
    "flood": "{town} Flood",
    "congress": "Congress of {town}",
    "siege": "Siege of {town}",
    "strike": "{town} Strike",
    "expedition": "{family} Expedition",
}
"""Kinds of events with their names."""


def half(name: str, split: str) -> Sequence[str]:
    """Return the words of a list in ``SPLIT`` for ``train`` or ``test``."""
    return SPLIT[name][SPLITS.index(split) :: 2]

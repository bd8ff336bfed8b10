"""The words of generated airlines, from ``words.yaml``."""

from gem_tau.words import parts, read_words

__all__ = ["ASKS", "CITIES", "FIRST_NAMES", "LAST_NAMES", "REASONS", "STATES", "STREETS"]

_WORDS = read_words(__file__)
FIRST_NAMES: list[str] = _WORDS["first_names"].split()
LAST_NAMES: list[str] = _WORDS["last_names"].split()
STREETS = [
    f"{name} {kind}"
    for kind in _WORDS["street_kinds"].split()
    for name in _WORDS["streets"].split()
]
CITIES = {code: parts(text)[0] for code, text in _WORDS["airports"].items()}
"""The city of each airport, by IATA code."""
STATES = {code: parts(text)[1] for code, text in _WORDS["airports"].items()}
"""The state of each airport, as two letters."""
REASONS = {reason: parts(text) for reason, text in _WORDS["reasons"].items()}
"""The reasons to cancel a reservation, each with sentences of a customer that tell it."""
ASKS = {fact: parts(text) for fact, text in _WORDS["asks"].items()}
"""What the questions for a fact have in them."""

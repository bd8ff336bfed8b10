"""The words of generated shops, from ``words.yaml``."""

from gem_tau.words import parts, read_words

__all__ = [
    "ASKS",
    "BRANDS",
    "CITIES",
    "FIRST_NAMES",
    "LAST_NAMES",
    "PERSONAS",
    "PRODUCTS",
    "REASONS",
    "STREETS",
]

_WORDS = read_words(__file__)
FIRST_NAMES: list[str] = _WORDS["first_names"].split()
LAST_NAMES: list[str] = _WORDS["last_names"].split()
STREETS: list[str] = _WORDS["streets"].split()
BRANDS = parts(_WORDS["brands"])
CITIES = [(city, *parts(text)) for city, text in _WORDS["cities"].items()]
"""City, state, and the first three digits of its zip codes."""
PRODUCTS: dict[str, tuple[int, dict[str, tuple[str, ...]]]] = {
    name: (one["price"], {option: parts(text) for option, text in one["options"].items()})
    for name, one in _WORDS["products"].items()
}
"""A usual price in dollars and the values of each option, by the name of the product."""
PERSONAS = parts(_WORDS["personas"])
REASONS = {reason: parts(text) for reason, text in _WORDS["reasons"].items()}
"""The reasons to cancel an order, each with sentences of a customer that tell it."""
ASKS = {fact: parts(text) for fact, text in _WORDS["asks"].items()}
"""What the questions for a fact have in them."""

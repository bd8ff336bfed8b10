"""The filters that every template has."""

from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_UP, Decimal

from inkwell.errors import FilterError
from inkwell.values import Markup, escape, is_number, to_text

Filter = Callable[..., object]


def default(value: object, fallback: object = "", falsy: bool = False) -> object:
    """The fallback instead of none or an undefined name; with `falsy`, of anything falsy."""
    return fallback if value is None or (falsy and not value) else value


def upper(value: object) -> str:
    return to_text(value).upper()


def title(value: object) -> str:
    """Each word with a capital first letter and the rest in lower case, with single spaces."""
    return " ".join(word[0].upper() + word[1:].lower() for word in to_text(value).split())


def truncate(value: object, length: int = 30, end: str = "...") -> str:
    """Cut a text that is longer than `length`, after its last whole word that fits with `end`.

    If not even one word fits, the first word is cut.
    """
    text = to_text(value)
    if len(text) <= length:
        return text
    room = length - len(end)
    if room < 1:
        raise FilterError(f"no room for {end!r}")
    kept = text[:room]
    if text[room] != " " and " " in kept:
        kept = kept[: kept.rindex(" ")]
    return kept.rstrip() + end


def indent(value: object, width: int = 4, first: bool = False) -> str:
    """Put spaces before each line that is not blank; before the first one only on demand."""
    lines = to_text(value).split("\n")
    for number, line in enumerate(lines):
        if line.strip() and (first or number > 0):
            lines[number] = " " * width + line
    return "\n".join(lines)


def length(value: object) -> int:
    if isinstance(value, str | list | tuple | Mapping):
        return len(value)
    raise FilterError("only texts, lists and mappings have a length")


def join(value: object, separator: str = "", last: str | None = None) -> str:
    """The items of a list as one text; `last` stands before the last item."""
    if not isinstance(value, list | tuple):
        raise FilterError("only lists can be joined")
    items = [to_text(item) for item in value]
    if last is None or len(items) < 2:
        return separator.join(items)
    return separator.join(items[:-1]) + last + items[-1]


def round_(value: object, digits: int = 0) -> int | float:
    """Round half away from zero; without digits after the point to a whole number."""
    if not is_number(value):
        raise FilterError("only numbers can be rounded")
    scaled = Decimal(str(value)).scaleb(digits).to_integral_value(ROUND_HALF_UP)
    rounded = scaled.scaleb(-digits)
    return float(rounded) if digits > 0 else int(rounded)


def pluralize(value: object, singular: str = "", plural: str = "s") -> str:
    """The singular for the number 1 or for something of the length 1, else the plural."""
    count = value if is_number(value) else length(value)
    return singular if count == 1 else plural


def safe(value: object) -> Markup:
    return Markup(to_text(value))


USUAL = (default, escape, indent, join, length, pluralize, round_, safe, title, truncate, upper)
FILTERS: dict[str, Filter] = {one.__name__.rstrip("_"): one for one in USUAL}

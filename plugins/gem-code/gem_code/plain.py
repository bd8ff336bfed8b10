"""Values as plain data, the only form in which they pass between processes.

The source of this file is sent to the sandbox, and the host imports it. Numbers, texts and lists
are encoded as in JSON; a value of another known type is a mapping from the name of its type to its
content. Decoding builds only these types, so a decoded value has no operators of its own, whoever
encoded it.
"""

import sys as gem_sys
from collections import Counter as GemCounter
from collections import OrderedDict as GemOrderedDict
from collections import deque as gem_deque
from typing import Any as GemAny

GEM_DEPTH = 100
"""The maximum depth of containers in one another."""
GEM_ITEMS = 100_000
"""The maximum number of items of an iterator."""
GEM_COLLISIONS = 100
"""The maximum number of different keys of a container that have the same hash."""
GEM_LONG = 10_000
"""The number of bits from which an integer is written in hexadecimal digits."""


def gem_encode(value: GemAny, other: GemAny, depth: GemAny = GEM_DEPTH) -> GemAny:
    """Return a value in a form for ``json.dumps``.

    Args:
        value: The value.
        other: Called with each value of an unknown type; returns its encoded form.
        depth: The number of levels that may follow.

    Raises:
        ValueError: The value is too deep, or contains itself.
    """
    if depth == 0:
        raise ValueError(f"a value has more than {GEM_DEPTH} levels")
    if value is None or isinstance(value, bool | float | str):
        return value
    if isinstance(value, int):
        return value if value.bit_length() < GEM_LONG else {"int": hex(value)}
    kind, content = gem_parts(value)
    if kind is None:
        return other(value)
    if isinstance(content, list):
        content = [gem_encode(item, other, depth - 1) for item in content]
    return content if kind == "list" else {kind: content}


def gem_parts(value: GemAny) -> GemAny:
    """Return the name of a value's type and its content, a text or a list; or None twice."""
    if isinstance(value, dict):
        kinds = (GemCounter, GemOrderedDict, dict)
        name = next(kind.__name__ for kind in kinds if isinstance(value, kind))
        return name, [[key, item] for key, item in value.items()]
    for kind in (list, tuple, set, frozenset, gem_deque):
        if isinstance(value, kind):
            return kind.__name__, list(value)
    if isinstance(value, bytes | bytearray):
        return ("bytes" if isinstance(value, bytes) else "bytearray"), value.decode("latin-1")
    if isinstance(value, range):
        return "range", [value.start, value.stop, value.step]
    if isinstance(value, complex):
        return "complex", [value.real, value.imag]
    return gem_library_parts(value)


def gem_library_parts(value: GemAny) -> GemAny:
    """Return the parts of a value of a module; only modules that were imported can have any."""
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return "array", [value.dtype.str, value.tolist()]
    for module, kind, parts in (
        ("decimal", "Decimal", str),
        ("fractions", "Fraction", lambda v: [v.numerator, v.denominator]),
        (
            "datetime",
            "datetime",
            lambda v: [v.year, v.month, v.day, v.hour, v.minute, v.second, v.microsecond],
        ),
        ("datetime", "date", lambda v: [v.year, v.month, v.day]),
        ("datetime", "timedelta", lambda v: [v.days, v.seconds, v.microseconds]),
    ):
        found = getattr(gem_sys.modules.get(module), kind, None)
        if isinstance(found, type) and isinstance(value, found):
            return (None, None) if getattr(value, "tzinfo", None) else (kind, parts(value))
    return None, None


def gem_made(module: GemAny, kind: GemAny) -> GemAny:
    """Return a function that makes a value of a type of the standard library."""

    def make(content: GemAny) -> GemAny:
        found = getattr(__import__(module), kind)
        return found(content) if isinstance(content, str) else found(*content)

    return make


def gem_array(content: GemAny) -> GemAny:
    """Return an array of numbers or texts; its elements if there is no numpy."""
    kind, items = content
    if not isinstance(kind, str) or kind[1:2] not in set("biufcU"):
        raise ValueError(f"an array of {kind!r} is not plain data")
    try:
        return __import__("numpy").array(items, dtype=kind)
    except ImportError:
        return items


def gem_check_hashes(keys: GemAny) -> None:
    """Raise a ``ValueError`` if too many different keys have the same hash.

    Whoever chooses the keys can give all numbers the same hash, and then time is quadratic.
    """
    found: GemAny = {}
    for key in keys:
        same = found.setdefault(hash(key), [])
        if key not in same:
            same.append(key)
        if len(same) > GEM_COLLISIONS:
            raise ValueError(f"more than {GEM_COLLISIONS} keys have the same hash")


def gem_hashed(make: GemAny) -> GemAny:
    """Return a function that makes a mapping from pairs, unless too many keys collide."""

    def of_pairs(pairs: GemAny) -> GemAny:
        gem_check_hashes(key for key, _ in pairs)
        return make(pairs)

    return of_pairs


def gem_hashed_items(make: GemAny) -> GemAny:
    """Return a function that makes a set from items, unless too many of them collide."""

    def of_items(items: GemAny) -> GemAny:
        gem_check_hashes(items)
        return make(items)

    return of_items


GEM_KINDS: GemAny = {
    "dict": gem_hashed(dict),
    "Counter": gem_hashed(lambda pairs: GemCounter(dict(pairs))),
    "OrderedDict": gem_hashed(GemOrderedDict),
    "iterator": iter,
    "tuple": tuple,
    "set": gem_hashed_items(set),
    "frozenset": gem_hashed_items(frozenset),
    "deque": gem_deque,
    "bytes": lambda text: text.encode("latin-1"),
    "bytearray": lambda text: bytearray(text.encode("latin-1")),
    "range": lambda parts: range(*parts),
    "complex": lambda parts: complex(*parts),
    "int": lambda text: int(text, 16),
    "array": gem_array,
    "Decimal": gem_made("decimal", "Decimal"),
    "Fraction": gem_made("fractions", "Fraction"),
    "datetime": gem_made("datetime", "datetime"),
    "date": gem_made("datetime", "date"),
    "timedelta": gem_made("datetime", "timedelta"),
}
"""What makes a value of each type from its content."""


def gem_decode(value: GemAny, kinds: GemAny, depth: GemAny = GEM_DEPTH) -> GemAny:
    """Return the value that ``gem_encode`` encoded.

    Args:
        value: The encoded form, as ``json.loads`` returns it. Nothing in it is trusted.
        kinds: A function for each type, which makes a value from its content: ``GEM_KINDS``.
        depth: The number of levels that may follow.

    Raises:
        Exception: This is not an encoded value.
    """
    if depth == 0:
        raise ValueError(f"a value has more than {GEM_DEPTH} levels")
    if isinstance(value, list):
        return [gem_decode(item, kinds, depth - 1) for item in value]
    if isinstance(value, dict):
        ((kind, content),) = value.items()
        if isinstance(content, list):
            content = [gem_decode(item, kinds, depth - 1) for item in content]
        return kinds[kind](content)
    return value


def gem_supply(common: str, source: str, without: GemAny) -> None:
    """Supply the common names that a program uses without importing them.

    Args:
        common: The source of ``gem_workers.common_names``.
        source: The source of the program.
        without: Names that are not supplied.
    """
    space: GemAny = {"__name__": "common_names"}
    exec(common, space)  # noqa: S102 - our own text
    try:
        code = compile(source, "program", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return  # the interpreter will report it
    for name in without:
        space["NAMES"].pop(name, None)
    space["supply"](code)

"""What was observed of a repository, and whether it is what was expected.

What a machine prints is the agent's: it is read as data, and whatever cannot be read is wrong.
"""

import itertools
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from gem_swe.probes import Probe, Probed

__all__ = ["Failure", "Observed", "failures", "plain_text", "read_observed", "shown", "texts_in"]

_LONGEST = 20_000
"""The number of characters of an observation, as in ``gem_swe.guest``."""
_LONGEST_NUMBER = 200
_SHOWN = 300

Observed = Mapping[str, Sequence[Any]]
"""By the id of each test, its observations in order, as ``gem_swe.guest`` encodes them."""


@dataclass(frozen=True)
class Failure:
    """A test that does not pass.

    Args:
        test: Its id.
        expression: The code whose value is wrong; empty if the test stopped before.
        expected: The value that was expected, as Python writes it.
        got: What came instead.
        number: Which observation of the test this is, from 0.
        probe: Which probe of the test observed it; None if the test stopped before.
        message: What a runner of tests says of it, if one was used.
    """

    test: str
    expression: str
    expected: str
    got: str
    number: int = 0
    probe: int | None = None
    message: str = ""


def read_observed(output: str, tests: Collection[str]) -> dict[str, list[Any]]:
    """Return what a guest has printed; lines that it would not print are left out.

    Args:
        output: What was printed.
        tests: The ids of the tests, and the paths of their files.
    """
    found: dict[str, list[Any]] = {}
    lines = (line for line in output.splitlines() if line.startswith('["'))
    for line in itertools.islice(lines, 2 * len(tests)):
        try:
            test, notes = json.loads(line)
        except (ValueError, TypeError, RecursionError):
            continue
        if isinstance(test, str) and test in tests and isinstance(notes, list):
            found.setdefault(test, []).extend(notes)  # a test that comes twice fails
    return found


def failures(probed: Probed, expected: Observed, observed: Observed) -> list[Failure]:
    """Return the first failure of each test, and all failures of tests that did not stop.

    Args:
        probed: The tests.
        expected: What is observed of the repository as it should be.
        observed: What was observed.
    """
    found: list[Failure] = []
    for test, wanted in expected.items():
        probes, notes = probed.probes[test], observed.get(test, ())
        for number, (index, value, *_) in enumerate(wanted):
            came = _value(notes, number, index)
            if came is None:
                last = notes or observed.get(probed.file_of(test)) or [None]
                why = _why_stopped(last[-1])
                found.append(Failure(test, "", shown(value), why, number))
                break
            if not _is_right(probes[index], value, came[0]):
                expression, got = probes[index].expression, shown(came[0])
                found.append(Failure(test, expression, shown(value), got, number, index))
        else:
            if len(notes) > len(wanted):
                found.append(Failure(test, "", "no further observation", "more", len(wanted)))
    return found


def _value(notes: Sequence[Any], number: int, index: int) -> tuple[Any] | None:
    """Return what a probe has observed; None if it was not the one at this place."""
    note = notes[number] if number < len(notes) else None
    if not isinstance(note, list) or len(note) not in {2, 3} or note[0] != index:
        return None
    length = len(json.dumps(note[1]))
    return (note[1] if length <= _LONGEST else {"too long": length},)


def _why_stopped(last: Any) -> str:
    if isinstance(last, dict) and "stopped" in last:
        return shown(last["stopped"])
    if isinstance(last, dict) and "late" in last:
        return f"no end within {shown(last['late'])} s"
    return "nothing: the tests did not get there"


def _is_right(probe: Probe, expected: Any, got: Any) -> bool:
    if isinstance(expected, dict) and "raised" in expected:
        return _is_error(got, expected["raised"], probe.raises or expected["raised"][0])
    try:
        wanted, found = _decoded(expected), _decoded(got)
        return bool(wanted) == bool(found) if probe.is_truth else bool(wanted == found)
    except (ArithmeticError, ValueError, TypeError, LookupError, RecursionError):
        return False


def _is_error(got: Any, expected: Sequence[str], wanted: str) -> bool:
    """Return whether an error of a class, or of one that is derived from it, was raised.

    The names of a class and of those that it is derived from come in order. From the wanted one on
    they must be those that were expected, so a list of every possible name does not count.
    """
    if not isinstance(got, dict) or got.keys() != {"raised", "message"}:
        return False
    names = got["raised"]
    if not isinstance(names, list) or wanted not in names:
        return False
    return names[names.index(wanted) :] == expected[expected.index(wanted) :]


def _decoded(value: Any) -> Any:
    """Return what ``gem_swe.guest`` has encoded, with equality as in Python."""
    if not isinstance(value, dict):
        if isinstance(value, list):
            raise TypeError("a list is encoded as a dict")
        return value
    ((kind, inner),) = value.items()
    if kind == "raised":
        raise ValueError("an error is not a value")
    decode = _DECODERS.get(kind)
    return (f"?{kind}", str(inner)) if decode is None else decode(inner)


def _values(inner: Any) -> list[Any]:
    return [_decoded(one) for one in inner]


def _hashable(value: Any) -> Any:
    if isinstance(value, list):
        return ("?list", *map(_hashable, value))
    if isinstance(value, tuple):
        return tuple(map(_hashable, value))
    if isinstance(value, set):
        return frozenset(value)
    return repr(value) if isinstance(value, dict) else value


def _decimal(text: str) -> Any:
    """Return a decimal; one of an absurd size is its text, which equals no number."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return ("?decimal", text)
    exponent = number.as_tuple().exponent
    is_plain = isinstance(exponent, int) and abs(exponent) < _LONGEST_NUMBER
    return number if is_plain and len(text) < _LONGEST_NUMBER else ("?decimal", text)


_DECODERS: Mapping[str, Callable[[Any], Any]] = {
    "float": lambda inner: "?nan" if inner == "nan" else float(inner),
    "bytes": bytes.fromhex,
    "decimal": lambda inner: _decimal(str(inner)),
    "fraction": lambda inner: Fraction(*map(int, inner)),
    "list": _values,
    "tuple": lambda inner: tuple(_values(inner)),
    "set": lambda inner: {_hashable(one) for one in _values(inner)},
    "dict": lambda inner: {_hashable(_decoded(key)): _decoded(one) for key, one in inner},
}


def texts_in(value: Any) -> Iterator[str]:
    """Yield the texts in an observation; those of errors are not compared, and left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for inner in value:
            yield from texts_in(inner)
    elif isinstance(value, dict) and "raised" not in value:
        for inner in value.values():
            yield from texts_in(inner)


def shown(value: Any, limit: int = _SHOWN) -> str:
    """Return an observation as a text for people, as Python would write it."""
    try:
        text = _shown(value)
    except (ArithmeticError, ValueError, TypeError, LookupError, RecursionError):
        return "<not readable>"
    return plain_text(text if len(text) <= limit else f"{text[: limit - 3]}...")


def plain_text(text: str) -> str:
    """Return a text without lone surrogates, which cannot be written to a file."""
    return text.encode("utf-8", "backslashreplace").decode()


def _shown(value: Any) -> str:
    if not isinstance(value, dict):
        return repr(value)
    ((kind, inner),) = list(value.items())[:1]
    if kind == "raised":
        message = value.get("message")
        return f"{inner[0]}: {message}" if message else f"{inner[0]}"
    show = _SHOWERS.get(kind)
    return f"<{kind} {inner}>" if show is None else show(inner)


def _joined(inner: Any) -> str:
    return ", ".join(map(_shown, inner))


_SHOWERS: Mapping[str, Callable[[Any], str]] = {
    "float": str,
    "time": str,
    "bytes": lambda inner: repr(bytes.fromhex(inner)),
    "decimal": lambda inner: f"Decimal({inner!r})",
    "fraction": lambda inner: f"Fraction({', '.join(map(str, inner))})",
    "list": lambda inner: f"[{_joined(inner)}]",
    "tuple": lambda inner: f"({_joined(inner)},)" if len(inner) == 1 else f"({_joined(inner)})",
    "set": lambda inner: f"{{{_joined(inner)}}}" if inner else "set()",
    "dict": lambda inner: (
        "{" + ", ".join(f"{_shown(key)}: {_shown(one)}" for key, one in inner) + "}"
    ),
}

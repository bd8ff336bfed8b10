"""Fits the parameters of a game to what gem-games can play: gem-llm does not limit them.

gem-games refuses a parameter outside its range, so its own constructor decides what fits: a number
that it refuses is replaced by the nearest one that it accepts, with a warning.
"""

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from gem_core.errors import ConfigError

__all__ = ["fitted", "number"]

_SMALL = range(65)
"""Numbers, some of which every parameter accepts."""


def number(name: str, value: Any) -> Any:
    """Return a parameter that may be any int; a number in a text is read, with a warning.

    Raises:
        ConfigError: It is not an int, a text with one, or None.
    """
    if value is None or (hasattr(value, "__index__") and not isinstance(value, bool)):
        return value
    try:
        read = int(value)
    except (TypeError, ValueError):
        raise ConfigError(f"{name} must be a whole number; got {value!r}.") from None
    warnings.warn(f"{name}={value!r} is used as {read}.", stacklevel=2)
    return read


def fitted(
    accepts: Callable[..., bool], wanted: Mapping[str, Any], names: Mapping[str, str]
) -> dict[str, Any]:
    """Return parameters that a game accepts, each the nearest to the wanted one.

    Args:
        accepts: Returns whether the game accepts keyword arguments.
        wanted: The parameters in order of precedence; None is the game's own choice.
        names: The names of parameters in warnings, if they have others.
    """
    if accepts(**wanted):
        return dict(wanted)
    fit = {name: None for name in wanted if accepts(**{name: None})}
    for name, value in wanted.items():
        found = value if accepts(**{**fit, name: value}) else _nearest(accepts, fit, name, value)
        if found is not value and found != value:
            warnings.warn(
                f"{names.get(name, name)}={value!r} is not possible here: {found!r} is used.",
                stacklevel=2,
            )
        fit[name] = found
    return fit


def _nearest(accepts: Callable[..., bool], fit: Mapping[str, Any], name: str, value: Any) -> Any:
    if isinstance(value, int):
        return _bisect(lambda n: accepts(**{**fit, name: n}), value)
    if isinstance(value, tuple | list) and all(isinstance(n, int) for n in value):
        sizes = [_bisect(lambda n: accepts(**{**fit, name: (n,) * len(value)}), n) for n in value]
        return None if None in sizes else tuple(sizes)
    return value


def _bisect(accepts: Callable[[int], bool], value: int) -> int | None:
    """Return the accepted number nearest to a refused one; accepted numbers are a range."""
    near = min(filter(accepts, _SMALL), key=lambda n: abs(n - value), default=None)
    if near is None:
        return None
    far = value
    while abs(far - near) > 1:
        middle = (near + far) // 2
        near, far = (middle, far) if accepts(middle) else (near, middle)
    return near

"""Names and loops while a template is rendered."""

from collections.abc import Mapping, Sequence

from inkwell.errors import OperationError, UndefinedError


class Scope:
    """Names with values, inside an outer scope whose names are seen but never changed."""

    def __init__(self, values: Mapping[str, object], outer: "Scope | None" = None) -> None:
        self._values = dict(values)
        self._outer = outer

    def get(self, name: str) -> object:
        """The value of the innermost name; an UndefinedError if no scope has it."""
        if name in self._values:
            return self._values[name]
        if self._outer is None:
            raise UndefinedError(f"{name!r} is not defined")
        return self._outer.get(name)

    def set(self, name: str, value: object) -> None:
        self._values[name] = value


class Loop:
    """What a template sees as `loop`: where a loop over `length` items is."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.index = 0

    @property
    def first(self) -> bool:
        return self.index == 1

    @property
    def last(self) -> bool:
        return self.index == self.length

    def advance(self) -> None:
        """Go to the next item; the first one has index 1."""
        self.index += 1


def loop_items(value: object) -> Sequence[object]:
    """What a loop runs over: the items of a list, the pairs of a mapping, nothing for none."""
    if value is None:
        return ()
    if isinstance(value, Mapping):
        return tuple(value.items())
    if isinstance(value, list | tuple):
        return value
    raise OperationError("'for' needs a list or a mapping")


def unpack(names: Sequence[str], item: object) -> dict[str, object]:
    """The item under a single name, or its parts under several names, one for each."""
    if len(names) == 1:
        return {names[0]: item}
    if not isinstance(item, list | tuple) or len(item) != len(names):
        raise OperationError(f"cannot unpack an item into {len(names)} names")
    return dict(zip(names, item))

"""A binary heap that gives back its smallest item first."""

from typing import Any, Generic, TypeVar

T = TypeVar("T", bound=tuple[Any, ...])


class Heap(Generic[T]):
    """Holds tuples, which may be equal, and compares them with `<`."""

    def __init__(self) -> None:
        self._items: list[T] = []

    def push(self, item: T) -> None:
        self._items.append(item)
        index = len(self._items) - 1
        while index > 0 and self._swap_if_smaller(index, (index - 1) // 2):
            index = (index - 1) // 2

    def pop(self) -> T | None:
        """Remove the smallest item and return it; None if there is none."""
        if not self._items:
            return None
        smallest, self._items[0] = self._items[0], self._items[-1]
        self._items.pop()
        index, child = 0, self._smaller_child(0)
        while child is not None and self._swap_if_smaller(child, index):
            index, child = child, self._smaller_child(child)
        return smallest

    def _smaller_child(self, index: int) -> int | None:
        left, right = 2 * index + 1, 2 * index + 2
        if right < len(self._items) and self._items[right] < self._items[left]:
            return right
        return left if left < len(self._items) else None

    def _swap_if_smaller(self, lower: int, upper: int) -> bool:
        below, above = self._items[lower], self._items[upper]
        if below < above:
            self._items[lower], self._items[upper] = above, below
        return below < above

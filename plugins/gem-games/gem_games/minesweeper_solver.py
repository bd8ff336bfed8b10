"""Minesweeper solver: the exact probability of a mine under each hidden cell.

Each visible number is a constraint: a number of mines among some hidden cells. Cells in the same
constraints are interchangeable and form a group. Groups that share constraints form a component,
whose solutions are counted by their number of mines. Components depend on each other only through
the total number of mines, which ``_Component.chances`` takes into account.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import comb

__all__ = ["Constraint", "certain_cells", "mine_chances"]

Constraint = tuple[frozenset[int], int]
"""Hidden cells, and the number of mines among them."""


def certain_cells(constraints: Iterable[Constraint]) -> tuple[set[int], set[int]]:
    """Return cells that are safe and cells that are mines, deduced from pairs of constraints.

    This is fast and finds most of the certain cells; ``mine_chances`` finds all of them.
    """
    safe: set[int] = set()
    mines: set[int] = set()
    known = set(constraints)
    while True:
        reduced = {(cells - safe - mines, count - len(cells & mines)) for cells, count in known}
        reduced = {constraint for constraint in reduced if constraint[0]}
        reduced |= {
            (larger - smaller, more - few)
            for smaller, few in reduced
            for larger, more in reduced
            if smaller < larger
        }
        before = len(safe) + len(mines)
        for cells, count in reduced:
            if count == 0:
                safe |= cells
            elif count == len(cells):
                mines |= cells
        if before == len(safe) + len(mines) and reduced <= known:
            return safe, mines
        known |= reduced


def mine_chances(
    constraints: Sequence[Constraint], hidden: frozenset[int], num_mines: int
) -> dict[int, float]:
    """Return the probability of a mine for each hidden cell if all boards are equally likely.

    Args:
        constraints: The constraints of the visible numbers, which at least one board satisfies.
        hidden: All hidden cells.
        num_mines: The number of mines among them.
    """
    components = [_Component(groups) for groups in _components(constraints)]
    rest = hidden.difference(*(cells for cells, _ in constraints))
    for component in components:
        component.count(constraints)
    chances: dict[int, float] = {}
    for index, component in enumerate(components):
        others = _product(c.ways for i, c in enumerate(components) if i != index)
        chances.update(component.chances(others, len(rest), num_mines))
    if rest:
        expected = num_mines - sum(chances.values())
        chances.update(dict.fromkeys(rest, max(0.0, expected / len(rest))))
    return chances


Group = tuple[tuple[int, ...], tuple[int, ...]]
"""Interchangeable cells, and the indices of their constraints."""


def _components(constraints: Sequence[Constraint]) -> list[list[Group]]:
    """Return the groups of each component, ordered so that neighbours are close together."""
    members: dict[int, list[int]] = {}
    for index, (cells, _) in enumerate(constraints):
        for cell in cells:
            members.setdefault(cell, []).append(index)
    by_constraints: dict[tuple[int, ...], list[int]] = {}
    for cell in sorted(members):
        by_constraints.setdefault(tuple(members[cell]), []).append(cell)
    left = {key: tuple(cells) for key, cells in by_constraints.items()}
    found = []
    while left:
        queue = [next(iter(left))]
        component = [(left.pop(queue[0]), queue[0])]
        for key in queue:
            for other in [other for other in left if not set(key).isdisjoint(other)]:
                queue.append(other)
                component.append((left.pop(other), other))
        found.append(component)
    return found


@dataclass
class _Component:
    groups: list[Group]
    ways: dict[int, int] = field(default_factory=dict)
    """The number of solutions by number of mines."""
    inside: dict[int, list[int]] = field(default_factory=dict)
    """The number of mines in each group, summed over these solutions."""

    def count(self, constraints: Sequence[Constraint]) -> None:
        """Compute ``ways`` and ``inside`` by trying every number of mines in every group."""
        self._left = {i: constraints[i][1] for _, indices in self.groups for i in indices}
        self._room = {i: len(constraints[i][0]) for i in self._left}
        self._chosen: list[int] = []
        self._extend(1)

    def _extend(self, weight: int) -> None:
        if len(self._chosen) == len(self.groups):
            self._note(weight)
            return
        cells, indices = self.groups[len(self._chosen)]
        left, room, size = self._left, self._room, len(cells)
        for index in indices:
            room[index] -= size
        least = max(0, *(left[index] - room[index] for index in indices))
        most = min(size, *(left[index] for index in indices))
        for mines in range(least, most + 1):
            for index in indices:
                left[index] -= mines
            self._chosen.append(mines)
            self._extend(weight * comb(size, mines))
            self._chosen.pop()
            for index in indices:
                left[index] += mines
        for index in indices:
            room[index] += size

    def _note(self, weight: int) -> None:
        mines = sum(self._chosen)
        self.ways[mines] = self.ways.get(mines, 0) + weight
        inside = self.inside.setdefault(mines, [0] * len(self.groups))
        for index, number in enumerate(self._chosen):
            inside[index] += weight * number

    def chances(self, others: dict[int, int], rest: int, num_mines: int) -> dict[int, float]:
        """Return the probability of a mine for each cell.

        Args:
            others: The number of solutions of the other components by number of mines.
            rest: The number of hidden cells without a constraint.
            num_mines: The number of mines among all hidden cells.
        """
        total, sums = 0, [0] * len(self.groups)
        for mines, ways in self.ways.items():
            fits = sum(
                number * comb(rest, num_mines - mines - used)
                for used, number in others.items()
                if used <= num_mines - mines
            )
            total += ways * fits
            for index, number in enumerate(self.inside[mines]):
                sums[index] += number * fits
        return {
            cell: number / (total * len(cells))
            for (cells, _), number in zip(self.groups, sums, strict=True)
            for cell in cells
        }


def _product(polynomials: Iterable[dict[int, int]]) -> dict[int, int]:
    product = {0: 1}
    for polynomial in polynomials:
        extended: dict[int, int] = {}
        for one, ways in product.items():
            for two, more in polynomial.items():
                extended[one + two] = extended.get(one + two, 0) + ways * more
        product = extended
    return product

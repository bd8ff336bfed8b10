"""Giving shifts to people in turn, with limits and rest times."""

from dataclasses import dataclass, field
from datetime import timedelta

from rota.dates import week_start
from rota.errors import RosterError
from rota.intervals import Interval

REST = timedelta(hours=11)


@dataclass(eq=False)
class _Member:
    name: str
    limit: int
    rest: timedelta
    shifts: list[Interval] = field(default_factory=list)

    def can_take(self, shift: Interval) -> bool:
        monday = week_start(shift.start.date())
        if sum(week_start(own.start.date()) == monday for own in self.shifts) >= self.limit:
            return False
        kept = [own.widened(self.rest, self.rest) for own in self.shifts]
        return not any(interval.overlaps(shift) for interval in kept)


class Roster:
    """People who take shifts in turn.

    A person takes at most `limit` shifts that start in the same week from Monday to Sunday,
    and has at least `rest` between two shifts. Each shift goes to the person whose turn it is,
    or else to the next in the circle who can take it; then it is the turn of whoever comes
    after that person.
    """

    def __init__(self, limit: int = 5, rest: timedelta = REST) -> None:
        self._limit = limit
        self._rest = rest
        self._turn = 0
        self._members: list[_Member] = []

    @property
    def turn(self) -> str | None:
        """The name of the person whose turn it is, or None without anybody."""
        return self._members[self._turn].name if self._members else None

    def join(self, name: str, limit: int | None = None, rest: timedelta | None = None) -> None:
        """Add a person at the end of the circle; raises RosterError if the name is taken.

        Limit and rest are those of the roster unless given.
        """
        if any(member.name == name for member in self._members):
            raise RosterError(f"{name} is in the roster already")
        limit = self._limit if limit is None else limit
        self._members.append(_Member(name, limit, self._rest if rest is None else rest))

    def leave(self, name: str) -> list[Interval]:
        """Remove a person and return their shifts, in order of time.

        The turn stays with the same person; that of the one who leaves goes to the next.
        """
        member = self._member(name)
        index = self._members.index(member)
        del self._members[index]
        if index < self._turn:
            self._turn -= 1
        elif self._turn == len(self._members):
            self._turn = 0
        return sorted(member.shifts)

    def assign(self, shift: Interval) -> str | None:
        """Give a shift to somebody; the name, or None (and the turn stays) if nobody can."""
        for offset in range(len(self._members)):
            index = (self._turn + offset) % len(self._members)
            member = self._members[index]
            if member.can_take(shift):
                member.shifts.append(shift)
                self._turn = (index + 1) % len(self._members)
                return member.name
        return None

    def shifts_of(self, name: str) -> list[Interval]:
        """The shifts of a person, in order of time."""
        return sorted(self._member(name).shifts)

    def _member(self, name: str) -> _Member:
        for member in self._members:
            if member.name == name:
                return member
        raise RosterError(f"{name} is not in the roster")

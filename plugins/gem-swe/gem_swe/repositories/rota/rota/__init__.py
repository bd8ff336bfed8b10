"""Recurring events, working time and fair rosters, on datetimes without time zones.

The errors that it raises are in rota.errors.
"""

from rota.errors import RotaError
from rota.intervals import Interval, IntervalSet
from rota.parsing import parse_rule
from rota.roster import Roster
from rota.rules import Rule
from rota.slots import Agenda, SlotFinder, common_free
from rota.workdays import Shift, WorkCalendar

__all__ = ["Agenda", "Interval", "IntervalSet", "Roster", "RotaError", "Rule", "Shift"]
__all__ += ["SlotFinder", "WorkCalendar", "common_free", "parse_rule"]

"""What the tools of a mobile operator and of its customer's phone look up in the records.

The operator's tables are ``plans``, ``devices``, ``lines``, ``customers`` and ``bills``. The table
``user`` has two records: ``device``, the settings of the customer's phone, and ``surroundings``,
what the phone meets: where it is, the signals there, and what the operator's records say of its
line. A day is a text such as 2025-02-25, and an amount is in US dollars.
"""

import datetime as dt

from gem_tau.database import Record
from gem_tau.toolkit import ToolFailure, Toolkit

__all__ = ["TODAY", "USER", "TelecomRecords"]

TODAY = dt.date(2025, 2, 25)
"""The day of every episode, as in tau2."""
USER = "user"
_TABLES = ("customers", "lines", "devices", "bills", "plans")


class TelecomRecords(Toolkit):
    """Lookups that both sides need, and what a call of one side changes for the other."""

    def settle(self) -> None:
        """Bring the phone's surroundings up to date with the line, and bills with payments."""
        around: Record = self.db.get(USER, "surroundings")
        if around["phone_number"] is None:
            return
        line = self._line_of_number(around["phone_number"])
        allowance = self._plan(line["plan_id"])["data_limit_gb"] + line["data_refueling_gb"]
        request = around["payment_request"]
        if request and request["paid"]:
            self.db.edit("bills", request["bill_id"])["status"] = "Paid"
            request = None
        seen = {
            "line_active": line["status"] == "Active",
            "roaming_allowed": line["roaming_enabled"],
            "mobile_data_usage_exceeded": line["data_used_gb"] >= allowance,
            "payment_request": request or self._next_request(around["phone_number"]),
        }
        if any(around[name] != value for name, value in seen.items()):
            self.db.edit(USER, "surroundings").update(seen)

    def _next_request(self, phone_number: str) -> Record | None:
        """Return the request to pay the first bill that awaits payment; None without one."""
        for bill in self._awaited(self._customer_of_number(phone_number)):
            return {"bill_id": bill["bill_id"], "amount_due": bill["total_due"], "paid": False}
        return None

    def _awaited(self, customer: Record) -> list[Record]:
        bills = map(self._bill, customer["bill_ids"])
        return [bill for bill in bills if bill["status"] == "Awaiting Payment"]

    def _any_record(self, record_id: str) -> Record:
        for table in _TABLES:
            if (record := self.db.get(table, record_id)) is not None:
                return record
        raise ToolFailure(f"There is nothing with the id {record_id!r}")

    def _record(self, table: str, record_id: str) -> Record:
        record = self.db.get(table, record_id)
        if record is None:
            raise ToolFailure(f"There is no {table[:-1]} with the id {record_id!r}")
        return record

    def _customer(self, customer_id: str) -> Record:
        return self._record("customers", customer_id)

    def _bill(self, bill_id: str) -> Record:
        return self._record("bills", bill_id)

    def _plan(self, plan_id: str) -> Record:
        return self._record("plans", plan_id)

    def _line(self, customer_id: str, line_id: str) -> Record:
        """Return a line of a customer."""
        if line_id not in self._customer(customer_id)["line_ids"]:
            raise ToolFailure(f"The customer {customer_id!r} has no line {line_id!r}")
        return self._record("lines", line_id)

    def _line_of_number(self, phone_number: str) -> Record:
        for _, line in self.db.records("lines"):
            if line["phone_number"] == phone_number:
                return line
        raise ToolFailure(f"No line has the phone number {phone_number}")

    def _customer_of_number(self, phone_number: str) -> Record:
        """Return the customer with a phone number, their own or that of a line."""
        for _, customer in self.db.records("customers"):
            lines = (self._record("lines", line_id) for line_id in customer["line_ids"])
            numbers = (customer["phone_number"], *(line["phone_number"] for line in lines))
            if phone_number in numbers:
                return customer
        raise ToolFailure(f"No customer has the phone number {phone_number}")

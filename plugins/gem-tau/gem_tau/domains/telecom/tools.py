"""A mobile operator: the tools of its assistant.

Names, parameters and effects are those of the telecom domain of tau2 (MIT). Data are in gigabytes.
"""

import datetime as dt

from gem_tau.database import Record
from gem_tau.domains.telecom.records import TODAY, TelecomRecords
from gem_tau.toolkit import ToolFailure, read, write

__all__ = ["TelecomTools"]

_PAYMENT_DAYS = dt.timedelta(days=14)


class TelecomTools(TelecomRecords):
    """The tools of the assistant; see ``gem_tau.domains.telecom.records`` for the tables."""

    @read
    def get_customer_by_phone(self, phone_number: str) -> Record:
        """Find a customer by a phone number: the contact number, or that of a line.

        Args:
            phone_number: The phone number, such as 555-123-2002.
        """
        return self._customer_of_number(phone_number)

    @read
    def get_customer_by_id(self, customer_id: str) -> Record:
        """Get a customer.

        Args:
            customer_id: The id of the customer.
        """
        return self._customer(customer_id)

    @read
    def get_customer_by_name(self, full_name: str, dob: str) -> list[Record]:
        """List the customers with a name and a date of birth.

        Args:
            full_name: First and last name; case is ignored.
            dob: The date of birth, such as 1985-06-15.
        """
        return [
            customer
            for _, customer in self.db.records("customers")
            if customer["full_name"].lower() == full_name.lower()
            and customer["date_of_birth"] == dob
        ]

    @read
    def get_details_by_id(self, id: str) -> Record:  # noqa: A002 - the name is an interface
        """Get a customer, line, device, bill or plan.

        Args:
            id: The id.
        """
        return self._any_record(id)

    @read
    def get_bills_for_customer(self, customer_id: str, limit: int = 12) -> list[Record]:
        """List the bills of a customer, the newest first.

        Args:
            customer_id: The id of the customer.
            limit: The largest number of bills.
        """
        bills = map(self._bill, self._customer(customer_id)["bill_ids"])
        return sorted(bills, key=lambda bill: str(bill["issue_date"]), reverse=True)[:limit]

    @read
    def get_data_usage(self, customer_id: str, line_id: str) -> Record:
        """Get the data that a line has used in this billing cycle, its limit, and the cycle's end.

        Args:
            customer_id: The id of the customer who owns the line.
            line_id: The id of the line.
        """
        line = self._line(customer_id, line_id)
        return {
            "line_id": line_id,
            "data_used_gb": line["data_used_gb"],
            "data_limit_gb": self._plan(line["plan_id"])["data_limit_gb"],
            "data_refueling_gb": line["data_refueling_gb"],
            "cycle_end_date": str(_last_day(TODAY)),
        }

    @write
    def suspend_line(self, customer_id: str, line_id: str, reason: str) -> str:
        """Suspend an active line, which costs $5 a month.

        Args:
            customer_id: The id of the customer who owns the line.
            line_id: The id of the line.
            reason: Why it is suspended.
        """
        if self._line(customer_id, line_id)["status"] != "Active":
            raise ToolFailure(f"The line {line_id!r} is not active")
        self._suspend(line_id)
        return "The line is suspended. A fee of $5 a month applies."

    @write
    def resume_line(self, customer_id: str, line_id: str) -> str:
        """Make a line active that is suspended or waits for its activation.

        Args:
            customer_id: The id of the customer who owns the line.
            line_id: The id of the line.
        """
        if self._line(customer_id, line_id)["status"] not in {"Suspended", "Pending Activation"}:
            raise ToolFailure(f"The line {line_id!r} is not suspended")
        changes = {"status": "Active", "suspension_start_date": None}
        self.db.edit("lines", line_id).update(changes)
        return "The line is active."

    @write
    def send_payment_request(self, customer_id: str, bill_id: str) -> str:
        """Ask a customer to pay a bill; the status of the bill is not checked.

        Only one bill of a customer can await payment.

        Args:
            customer_id: The id of the customer.
            bill_id: The id of the bill.
        """
        customer = self._customer(customer_id)
        if self._awaited(customer):
            raise ToolFailure("Another bill of this customer awaits payment")
        if bill_id not in customer["bill_ids"]:
            raise ToolFailure(f"The customer {customer_id!r} has no bill {bill_id!r}")
        self._bill(bill_id)
        self.db.edit("bills", bill_id)["status"] = "Awaiting Payment"
        return f"The customer is asked to pay the bill {bill_id}."

    @write
    def enable_roaming(self, customer_id: str, line_id: str) -> str:
        """Enable international roaming on a line.

        Args:
            customer_id: The id of the customer who owns the line.
            line_id: The id of the line.
        """
        return self._set_roaming(customer_id, line_id, to=True)

    @write
    def disable_roaming(self, customer_id: str, line_id: str) -> str:
        """Disable international roaming on a line.

        Args:
            customer_id: The id of the customer who owns the line.
            line_id: The id of the line.
        """
        return self._set_roaming(customer_id, line_id, to=False)

    @write
    def refuel_data(self, customer_id: str, line_id: str, gb_amount: float) -> Record:
        """Add data to a line, at the price of its plan, on the next bill.

        Args:
            customer_id: The id of the customer who owns the line.
            line_id: The id of the line.
            gb_amount: Gigabytes to add, above 0.
        """
        line = self._line(customer_id, line_id)
        if gb_amount <= 0:
            raise ToolFailure("The amount must be above 0")
        price = self._plan(line["plan_id"])["data_refueling_price_per_gb"]
        line = self.db.edit("lines", line_id)
        line["data_refueling_gb"] += gb_amount
        self._charge(customer_id, gb_amount * price, f"{gb_amount} GB of data at ${price} a GB")
        return {"data_refueling_gb": line["data_refueling_gb"], "charge": gb_amount * price}

    def set_data_usage(self, customer_id: str, line_id: str, data_used_gb: float) -> None:
        """Set the data that a line has used."""
        self._line(customer_id, line_id)
        self.db.edit("lines", line_id)["data_used_gb"] = data_used_gb

    def suspend_line_for_overdue_bill(
        self,
        customer_id: str,
        line_id: str,
        new_bill_id: str,
        contract_ended: bool,  # noqa: FBT001 - passed by name
    ) -> None:
        """Suspend an active line whose bill of the last month is overdue."""
        line = self._line(customer_id, line_id)
        bills = map(self._bill, self._customer(customer_id)["bill_ids"])
        if line["status"] != "Active" or any(bill["status"] == "Overdue" for bill in bills):
            raise ToolFailure("The line is not active, or another bill is overdue")
        last = TODAY.replace(day=1) - dt.timedelta(days=1)
        self._add_bill(customer_id, new_bill_id, last.replace(day=1), "Overdue")
        amount = self._plan(line["plan_id"])["price_per_month"]
        self._add_item(new_bill_id, amount, f"Charge for line {line_id}")
        self._suspend(line_id)
        if contract_ended:
            self.db.edit("lines", line_id)["contract_end_date"] = str(last)

    def assert_data_refueling_amount(
        self, customer_id: str, line_id: str, expected_amount: float
    ) -> bool:
        """Return whether an amount of data was added to a line."""
        added: float = self._line(customer_id, line_id)["data_refueling_gb"]
        return abs(added - expected_amount) < 1e-6

    def assert_line_status(self, customer_id: str, line_id: str, expected_status: str) -> bool:
        """Return whether a line has a status."""
        return bool(self._line(customer_id, line_id)["status"] == expected_status)

    def assert_overdue_bill_exists(self, customer_id: str, overdue_bill_id: str) -> bool:
        """Return whether a bill of a customer is overdue."""
        bill = self.db.get("bills", overdue_bill_id)
        owned = overdue_bill_id in self._customer(customer_id)["bill_ids"]
        return owned and bill is not None and bill["status"] == "Overdue"

    def assert_no_overdue_bill(self, overdue_bill_id: str) -> bool:
        """Return whether a bill is paid, or not there."""
        bill = self.db.get("bills", overdue_bill_id)
        return bill is None or bool(bill["status"] == "Paid")

    def _set_roaming(self, customer_id: str, line_id: str, *, to: bool) -> str:
        state = "enabled" if to else "disabled"
        if self._line(customer_id, line_id)["roaming_enabled"] is to:
            return f"Roaming was {state} already."
        self.db.edit("lines", line_id)["roaming_enabled"] = to
        return f"Roaming is {state}."

    def _suspend(self, line_id: str) -> None:
        changes = {"status": "Suspended", "suspension_start_date": str(TODAY)}
        self.db.edit("lines", line_id).update(changes)

    def _charge(self, customer_id: str, amount: float, description: str) -> None:
        """Put a charge on the next bill of a customer, which is made if there is none."""
        bills = map(self._bill, self._customer(customer_id)["bill_ids"])
        drafts = [bill["bill_id"] for bill in bills if bill["status"] == "Draft"]
        if not drafts:
            drafts = [f"B{customer_id}-next"]
            self._add_bill(customer_id, drafts[0], _last_day(TODAY) + dt.timedelta(days=1), "Draft")
        self._add_item(drafts[0], amount, description)

    def _add_bill(self, customer_id: str, bill_id: str, first: dt.date, status: str) -> None:
        """Add an empty bill of the month that begins on a day."""
        if self.db.get("bills", bill_id) is not None:
            raise ToolFailure(f"There is a bill {bill_id!r} already")
        bill = {
            "bill_id": bill_id,
            "customer_id": customer_id,
            "period_start": str(first),
            "period_end": str(_last_day(first)),
            "issue_date": str(first),
            "total_due": 0.0,
            "due_date": str(first + _PAYMENT_DAYS),
            "line_items": [],
            "status": status,
        }
        self.db.insert("bills", bill_id, bill)
        self.db.edit("customers", customer_id)["bill_ids"].append(bill_id)

    def _add_item(self, bill_id: str, amount: float, description: str) -> None:
        bill = self.db.edit("bills", bill_id)
        item = {"description": description, "amount": amount, "date": str(TODAY)}
        bill["line_items"].append({**item, "item_type": "Charge"})
        bill["total_due"] += amount


def _last_day(day: dt.date) -> dt.date:
    """Return the last day of the month of a day."""
    return (day.replace(day=28) + dt.timedelta(days=4)).replace(day=1) - dt.timedelta(days=1)

"""A shed of a club that lends tools: the database is the plain JSON value."""

from general_agent.tools import Tools, tool


class TaskTools(Tools):
    db: dict

    @tool
    def show_stock(self) -> dict:
        """Show how many pieces of each tool are in the shed."""
        return self.db["stock"]

    @tool
    def lend(self, member: str, name: str, count: int = 1) -> str:
        """Lend pieces of a tool to a member.

        Args:
            member: The number of the member.
            name: The tool.
            count: How many pieces.
        """
        if count < 1 or self.db["stock"].get(name, 0) < count:
            raise ValueError(f"The shed does not have {count} of {name}.")
        self.db["stock"][name] -= count
        loans = self.db["loans"].setdefault(member, {})
        loans[name] = loans.get(name, 0) + count
        return f"Member {member} has {loans[name]} of {name}."

    @tool
    def close_reservation(self, reservation_id: str) -> str:
        """Mark a reservation as done.

        Args:
            reservation_id: The reservation.
        """
        if reservation_id not in self.db["reservations"]:
            raise ValueError(f"There is no reservation {reservation_id}.")
        self.db["reservations"][reservation_id] = "done"
        return "done"

"""A small domain for tests: a library that lends books."""

from gem_tau.database import Base
from gem_tau.scenario import Fact, Goal, Scenario
from gem_tau.task import Call, DialogueTask, Domain, Mention
from gem_tau.toolkit import ToolFailure, Toolkit, read, write

BASE = Base(
    {
        "books": {
            "b1": {"title": "Ash", "copies": 2, "price": 25},
            "b2": {"title": "Elm", "copies": 0, "price": 9.5},
        },
        "readers": {"r1": {"name": "Ida Holm", "email": "ida@example.com", "loans": []}},
    }
)


class LibraryTools(Toolkit):
    @read
    def find_book(self, title: str) -> str:
        """Find a book by its title.

        Args:
            title: The title.
        """
        for book_id, book in self.db.records("books"):
            if book["title"].lower() == title.lower():
                return book_id
        raise ToolFailure("there is no such book")

    @write
    def lend(self, reader_id: str, book_id: str) -> dict:
        """Lend a book to a reader.

        Args:
            reader_id: The reader.
            book_id: The book.
        """
        if self.db.get("readers", reader_id) is None:
            raise ToolFailure("there is no such reader")
        reader = self.db.edit("readers", reader_id)
        reader["loans"].append(book_id)
        book = self.db.edit("books", book_id)
        if book["copies"] < 1:
            raise ToolFailure("no copy is left")
        book["copies"] -= 1
        return reader

    def has_loans(self, reader_id: str, count: int) -> bool:
        """Return whether a reader has a number of loans."""
        return len(self.db.get("readers", reader_id)["loans"]) == count


LIBRARY = Domain("library", LibraryTools, "You work in a library.", origin="tau_toy:LIBRARY")


def lending_task(**changes):
    fields = {
        "id": "lend-ash",
        "domain": LIBRARY,
        "base": BASE,
        "scenario": Scenario(
            goals=(
                Goal(
                    "I would like to borrow Ash.",
                    facts=(Fact("title", "The title is Ash.", ("which book",)),),
                ),
                Goal("How much is Ash worth?", kind="question"),
            ),
            identity=(Fact("name", "I am Ida Holm."),),
            unknown=("email",),
        ),
        "actions": (
            Call("find_book", {"title": "Ash"}, goal=0),
            Call("lend", {"reader_id": "r1", "book_id": "b1"}, goal=0),
        ),
        "communicate": (Mention("25", goal=1),),
    }
    return DialogueTask(**fields | changes)

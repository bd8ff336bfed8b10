"""A dialogue over a database to look at: a library's assistant that errs."""

from gem_core.agent import ScriptedAgent
from gem_rollout import collect, play_agents
from gem_tau.database import Base
from gem_tau.env import DialogueEnv, make_dialogue
from gem_tau.scenario import Fact, Goal, Scenario
from gem_tau.sources import ListedTasks
from gem_tau.task import Call, DialogueTask, Domain, Mention
from gem_tau.toolkit import ToolFailure, Toolkit, read, write

BASE = Base(
    {
        "books": {
            "b1": {"title": "Ash", "copies": 2, "shelf": {"room": "North", "row": 4}},
            "b2": {"title": "Elm", "copies": 1, "shelf": {"room": "South", "row": 1}},
        },
        "readers": {"r1": {"name": "Ida Holm", "loans": [], "phone": "555-0100"}},
    }
)


class LibraryTools(Toolkit):
    @read
    def find_book(self, title: str) -> dict:
        """Find a book by its title.

        Args:
            title: The title.
        """
        for book_id, book in self.db.records("books"):
            if book["title"] == title:
                return {"id": book_id, **book}
        raise ToolFailure("There is no such book")

    @write
    def lend(self, reader_id: str, book_id: str, weeks: int) -> str:
        """Lend a book to a reader.

        Args:
            reader_id: The reader.
            book_id: The book.
            weeks: For how long.
        """
        self.db.edit("books", book_id)["copies"] -= 1
        self.db.edit("readers", reader_id)["loans"].append(book_id)
        self.db.insert("loans", f"{reader_id}-{book_id}", {"weeks": weeks})
        return "The book is lent."

    @write
    def set_phone(self, reader_id: str, phone: str) -> str:
        """Change a reader's phone number.

        Args:
            reader_id: The reader.
            phone: The number.
        """
        self.db.edit("readers", reader_id)["phone"] = phone
        return "The number is changed."


SAID = (
    "Hello, I would like to borrow Ash for two weeks. Which row is it in?",
    "I am Ida Holm.",
    "Yes, please go ahead.",
    "My phone number is 555-0199 now, please change it.",
    "Yes, that is all.",
)
"""The messages of the user."""
TASK = DialogueTask(
    id="lend-ash",
    domain=Domain("library", LibraryTools, "You work in a library. Ask before you change data."),
    base=BASE,
    scenario=Scenario(
        goals=(Goal(SAID[0]), Goal(SAID[3])),
        identity=(Fact("name", SAID[1]),),
    ),
    actions=(
        Call("lend", {"reader_id": "r1", "book_id": "b1", "weeks": 2}),
        Call("set_phone", {"reader_id": "r1", "phone": "555-0199"}),
    ),
    communicate=(Mention("row 4"),),
)
LEND = '{"name": "lend", "arguments": {"reader_id": "r1", "book_id": "b1", "weeks": 3}}'
ERRING = (
    "May I have your name, please?",
    '{"name": "find_book", "arguments": {"title": "Oak"}}',
    '{"name": "find_book", "arguments": {"title": "Ash"}}',
    "I found it. Shall I lend you Ash for two weeks? (yes/no)",
    f"I lend it now.\n```json\n{LEND}\n```",
    "The book has been lent to you. Is there anything else I can help you with?",
    "Your number has been changed. Do you confirm that this is all? (yes/no)",
    "Is there anything else I can help you with?",
)
"""The number is not changed, the loan is too long, and the row is not told."""


def dialogue_trajectory(messages=ERRING, **options):
    """Return an episode of an assistant that says these messages."""
    rollout = collect(
        lambda: make_dialogue(
            tasks=ListedTasks([TASK]), user={"id": "replay", "messages": SAID}, **options
        ),
        lambda: ScriptedAgent(messages),
        episodes=1,
        agent_name="scripted",
    )
    (trajectory,) = rollout
    return trajectory


def both_seats_trajectory():
    """Return the same episode with turns of both seats."""
    user = ScriptedAgent([*SAID, "###STOP###"])
    players = {"user": user, "assistant": ScriptedAgent(ERRING)}
    return play_agents(DialogueEnv(tasks=ListedTasks([TASK])), players, 0)


def users_trajectory():
    """Return an episode in the view of the user."""
    said = ["Ash, please.", "I am Ida Holm.", "Never mind. ###STOP###"]
    rollout = collect(
        lambda: make_dialogue(
            tasks=ListedTasks([TASK]), seat="user", assistant=ScriptedAgent(ERRING)
        ),
        lambda: ScriptedAgent(said),
        episodes=1,
        agent_name="talker",
    )
    (trajectory,) = rollout
    return trajectory

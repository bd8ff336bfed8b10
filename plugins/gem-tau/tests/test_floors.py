"""Agents that do nothing useful: which tasks pay them, and leaving these out."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough
from tau_toy import BASE, LIBRARY, LibraryTools, lending_task

from gem_core.errors import ConfigError
from gem_tau.database import Database
from gem_tau.env import make_dialogue
from gem_tau.floors import IDLE_AGENTS, free_tasks, played, without_free
from gem_tau.scenario import Fact, Goal, Scenario
from gem_tau.sources import ListedTasks
from gem_tau.task import Assertion, Call, Domain, Mention
from gem_tau.toolkit import TRANSFER, ToolFailure, neither, write

LEND = Call("lend", {"reader_id": "r1", "book_id": "b1"})
IMPOSSIBLE = Call("lend", {"reader_id": "r1", "book_id": "b2"})
HAND_OVER = Call(TRANSFER, {"summary": "The customer needs help."})
EVERYONE = ("silent", "goodbye", "transfer")


class NotingTools(LibraryTools):
    """A library in which handing over is written down."""

    @write
    def transfer_to_human_agents(self, summary: str) -> str:
        """Hand over to a person.

        Args:
            summary: What the reader wants.
        """
        if self.db.get("notes", "n1") is None:
            self.db.insert("notes", "n1", summary)
        return "done"


class ClosedTools(LibraryTools):
    """A library in which nobody can be handed over."""

    @neither
    def transfer_to_human_agents(self, summary: str) -> str:
        """Hand over to a person.

        Args:
            summary: What the reader wants.
        """
        raise ToolFailure("nobody is there")


NOTING = Domain("noting", NotingTools, "You work in a library.")


def free(**changes):
    return free_tasks([lending_task(**changes)]).get("lend-ash", ())


def test_a_task_that_needs_a_change_of_the_database_is_not_free():
    assert free() == ()


def test_a_task_that_needs_an_answer_is_not_free():
    assert free(actions=()) == ()


def test_a_task_whose_reference_calls_change_nothing_pays_everyone():
    assert free(actions=(IMPOSSIBLE,), communicate=()) == EVERYONE


def test_a_mention_that_is_part_of_a_goodbye_pays_the_one_that_says_it():
    assert free(actions=(), communicate=(Mention("goodbye"),)) == ("goodbye",)


def test_a_reference_call_that_hands_over_pays_the_one_that_hands_over():
    task = {"actions": (HAND_OVER,), "reward_basis": ("actions",)}
    assert free(**task) == ("transfer",)


def test_a_condition_that_holds_from_the_beginning_pays_everyone():
    loans = {"reader_id": "r1", "count": 0}
    task = {"env_assertions": (Assertion("has_loans", loans),)}
    assert free(**task, reward_basis=("env_assertions",)) == EVERYONE


def test_the_parts_of_the_reward_may_be_given():
    task = lending_task()
    assert free_tasks([task], basis=("communicate",)) == {}
    assert free_tasks([lending_task(communicate=())], basis=("communicate",)) == {
        "lend-ash": EVERYONE
    }


def test_a_task_with_statements_for_a_judge_is_not_free_and_no_judge_is_needed():
    task = {"actions": (), "communicate": (), "nl_assertions": ("The assistant is polite.",)}
    assert free(**task, reward_basis=("db", "nl")) == ()
    assert free(**task, reward_basis=("db",)) == EVERYONE


def test_an_agent_that_reaches_a_limit_is_not_paid():
    closed = Domain("closed", ClosedTools, "You work in a library.")
    assert free(domain=closed, actions=(), communicate=()) == ("silent", "goodbye")


GOALS = st.builds(
    Goal,
    say=st.sampled_from(["Ash, please.", "How much is Elm?"]),
    facts=st.sampled_from([(), (Fact("word", "Goodbye to you.", ("goodbye",)),)]),
    kind=st.sampled_from(["request", "question", "refusal"]),
)
TASKS = st.builds(
    lambda **fields: lending_task(id="drawn", **fields),
    domain=st.sampled_from([LIBRARY, NOTING]),
    scenario=st.builds(Scenario, goals=st.lists(GOALS, max_size=3).map(tuple)),
    actions=st.lists(st.sampled_from([LEND, IMPOSSIBLE, HAND_OVER]), max_size=2).map(tuple),
    communicate=st.sampled_from([(), (Mention("25"),), (Mention("Goodbye"),)]),
    env_assertions=st.sampled_from(
        [(), *((Assertion("has_loans", {"reader_id": "r1", "count": n}),) for n in (0, 1))]
    ),
    reward_basis=st.lists(
        st.sampled_from(["db", "communicate", "actions", "env_assertions"]),
        min_size=1,
        unique=True,
    ).map(tuple),
)


@pytest.mark.slow
@settings(max_examples=150 if thorough() else 30, deadline=None)
@given(TASKS)
def test_what_follows_from_a_task_is_what_playing_it_gives(task):
    paid = tuple(name for name in IDLE_AGENTS if played(name, task, task.reward_basis) > 0)
    assert free_tasks([task]).get("drawn", ()) == paid


def test_grading_without_a_dialogue_leaves_the_task_as_it_is():
    task = lending_task(domain=NOTING)
    free_tasks([task])
    assert Database(BASE).equals(task.fresh())


def test_free_tasks_are_left_out_of_an_environment():
    paid = lending_task(id="free", actions=(), communicate=())
    source = without_free(ListedTasks([paid, lending_task()]))
    assert [task.id for task in source.tasks] == ["lend-ash"]


def test_the_parts_of_an_environment_decide_which_tasks_it_leaves_out():
    tasks = ListedTasks([lending_task(), lending_task(id="silent-is-enough", communicate=())])
    env = make_dialogue(tasks=tasks, exclude_free=True, reward_basis=["communicate"])
    assert [task.id for task in env.env.source.tasks] == ["lend-ash"]


def test_an_environment_without_any_other_task_is_refused():
    with pytest.raises(ConfigError, match="leaves no task: all 1 pay"):
        without_free(ListedTasks([lending_task(actions=(), communicate=())]))

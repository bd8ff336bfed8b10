"""The scripted user: what it tells, when it agrees, and how it ends."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough
from tau_toy import lending_task

from gem_core.agent import ScriptedAgent
from gem_rollout import play_agents
from gem_tau.env import DialogueEnv, make_dialogue
from gem_tau.scenario import Fact, Goal, Scenario
from gem_tau.sources import ListedTasks
from gem_tau.users import ScriptedUser
from gem_tau.users.phrases import asks_for, asks_to_confirm, refuses, reports_done

STOP = "###STOP###"
LEND = Goal("I want to borrow Ash.", facts=(Fact("reason", "It is for school."),))
WORTH = Goal("How much is it worth?", kind="question")


class Plain(ScriptedUser):
    """Takes the first of several ways to say something."""

    def seed_episode(self, seed):
        pass


def answers(*messages: str, goals: tuple[Goal, ...] = (LEND,), unknown: tuple[str, ...] = ()):
    """Return what the user answers to the greeting and to each message."""
    scenario = Scenario(goals, identity=(Fact("name", "I am Ida."),), unknown=unknown)
    env = DialogueEnv(tasks=ListedTasks([lending_task(scenario=scenario)]))
    agents = {"user": Plain(), "assistant": ScriptedAgent(messages or ["-"])}
    played = play_agents(env, agents, seed=0)
    assert played.error is None
    return [turn.action for turn in played.turns if turn.agent == "user"][: len(messages) + 1]


def test_the_user_tells_facts_only_when_asked() -> None:
    said = answers("What is your name?", "What is the reason?", "Hm.")
    assert said == [LEND.say, "I am Ida.", "It is for school.", LEND.say]


def test_the_user_waits_when_it_is_asked_to() -> None:
    assert answers("Let me see.")[1] == "Thank you, I will wait."


def test_the_user_tells_all_about_a_goal_if_it_does_not_understand_a_question_twice() -> None:
    said = answers("For which club?", "For which club?", "For which club?")
    assert said[1:] == [LEND.say, f"{LEND.say} It is for school.", f"{LEND.say} It is for school."]


def test_the_user_repeats_the_changed_wish() -> None:
    goal = Goal("Ash, please.", change="Oh, rather Elm.")
    assert answers("Do you confirm?", "Hm.", goals=(goal,))[1:] == ["Oh, rather Elm."] * 2


def test_the_user_tells_a_fact_once_while_it_agrees() -> None:
    said = answers("What is the reason?", "The reason: school. Do you confirm?")
    assert said[1:] == ["It is for school.", "Yes, please go ahead."]


def test_the_user_does_not_agree_to_an_offer_when_it_expects_a_refusal() -> None:
    no = "I cannot do that. Would you like to borrow something else instead? (yes/no)"
    assert answers(no, goals=(Goal("Lend all.", kind="refusal"), LEND))[1] == LEND.say


def test_the_user_says_what_it_does_not_know() -> None:
    assert answers("Your email?", unknown=("email",))[1] == "I am sorry, I do not know my email."


def test_the_user_ends_in_a_message_of_its_own_after_it_was_done() -> None:
    said = answers("Do you confirm (yes/no)?", "One moment.", "It has been lent.")
    assert said[1] == "Yes, please go ahead."
    assert STOP not in said[2]
    assert said[3] == STOP


def test_the_user_goes_on_to_the_next_goal() -> None:
    said = answers("Shall I lend it?", "Done: it has been lent.", "25.", goals=(LEND, WORTH))
    assert said[2:] == [WORTH.say, STOP]


def test_the_user_changes_its_mind_once_when_asked_to_confirm() -> None:
    goal = Goal("Ash, please.", change="Oh, rather Elm.")
    ask = "Do you confirm?"
    assert answers(ask, ask, goals=(goal,))[1:] == ["Oh, rather Elm.", "Yes, please go ahead."]


def test_the_user_repeats_its_condition_when_it_agrees() -> None:
    goal = Goal("Ash, please.", condition="it is free")
    said = answers("Do you confirm?", goals=(goal,))[1]
    assert said == "Yes, please go ahead, provided that it is free."


def test_the_user_insists_once_on_what_is_refused_and_accepts_a_refusal_that_it_expects() -> None:
    no = "I am afraid I cannot do that."
    assert answers(no, no)[1:] == [
        f"I would really like that, please check again. {LEND.say}",
        STOP,
    ]
    assert answers(no, goals=(Goal("Lend all.", kind="refusal"), LEND))[1] == LEND.say


def test_the_user_ends_a_dialogue_that_gets_nowhere() -> None:
    said = answers(*["Hm."] * 5)
    assert said[-1] == STOP
    assert len(said) == 5


def test_an_early_question_whether_there_is_more_does_not_end_the_dialogue() -> None:
    assert STOP not in answers("Is there anything else I can help you with?")


def test_the_user_does_not_agree_to_a_question_who_it_is() -> None:
    goal = Goal("Ash, please.", change="Oh, rather Elm.")
    said = answers("I have found you as Ida. Is that correct?", "Do you confirm?", goals=(goal,))
    assert said[1:] == ["Yes, that is me.", "Oh, rather Elm."]


def test_a_proposal_may_name_the_user() -> None:
    message = "Your name is Ida, and Ash is lent for $2. Is that correct?"
    assert answers(message)[1] == "I am Ida. Yes, please go ahead."


def test_the_user_does_not_agree_to_an_offer_in_the_place_of_what_was_refused() -> None:
    offer = "I cannot lend Ash. Would you like me to lend you Elm instead?"
    said = answers(offer, offer, goals=(LEND, WORTH))
    assert said[1] == f"No, thank you, I would rather not. {LEND.say}"
    assert said[2] == WORTH.say


def test_the_user_agrees_to_no_change_when_it_only_asked() -> None:
    said = answers("Shall I go ahead and lend it to you?", goals=(WORTH, LEND))
    assert said[1] == f"No, please do not change anything, I only want to know. {WORTH.say}"


@pytest.mark.parametrize("message", ["I can help with that.", "Sure. Anything else?"])
def test_the_user_stays_at_a_question_that_is_not_answered(message: str) -> None:
    borrow = Goal("I want Ash.")
    said = answers("Shall I lend it?", "It has been lent.", message, goals=(borrow, WORTH, LEND))
    assert said[2:] == [WORTH.say, WORTH.say]


@pytest.mark.parametrize("message", ["It is worth 25.", "It is worth $9.", "Nine.", "I can't say."])
def test_the_user_takes_any_answer_or_refusal(message: str) -> None:
    borrow = Goal("I want Ash.")
    said = answers("Shall I lend it?", "It has been lent.", message, goals=(borrow, WORTH, LEND))
    assert said[2:] == [WORTH.say, LEND.say]


def test_the_user_goes_on_when_it_gets_what_it_expected_to_be_refused() -> None:
    goal = Goal("Lend all.", kind="refusal")
    said = answers("Shall I lend all?", "All have been lent.", goals=(goal, LEND))
    assert said[1:] == ["Yes, please go ahead.", LEND.say]


def test_a_seed_chooses_the_words_and_equal_seeds_choose_equal_ones() -> None:
    fact = Fact("name", "I am Ida.", also=("My name is Ida.", "It's Ida."))
    task = lending_task(scenario=Scenario((LEND,), identity=(fact,)))

    def said(seed: int) -> tuple[str, ...]:
        user, env = ScriptedUser(), make_dialogue(tasks=ListedTasks([task]), seat="user")
        env.reset(seed=0)
        user.seed_episode(seed)
        user.reset(env)
        messages = ("Hello!", "Your name?", "Do you confirm?", "One moment.")
        return tuple(str(user.act(message, {})) for message in messages)

    found = [said(seed) for seed in range(30)]
    assert [said(seed) for seed in range(30)] == found
    assert {names for _, names, *_ in found} == {fact.say, *fact.also}
    assert len(set(found)) > 10
    assert all(first == LEND.say and "yes" in yes.lower() for first, _, yes, _ in found)


@pytest.mark.slow
@settings(max_examples=100 if thorough() else 25)
@given(st.lists(st.text(max_size=40), max_size=12))
def test_whatever_the_user_hears_it_never_stops_in_a_message_with_more_text(
    messages: list[str],
) -> None:
    for text in answers(*messages, goals=(LEND, WORTH)):
        assert STOP not in text or text == STOP


@pytest.mark.parametrize(
    "message",
    [
        *("Do you confirm this? (yes/no)", "Shall I go ahead?", "Would you like me to cancel it?"),
        *("Is that okay with you?", "Please reply 'yes' to proceed.", "Should I book it?"),
        *("Does that sound good?", "Are you happy with these changes?"),
    ],
)
def test_ordinary_proposals_ask_to_confirm(message: str) -> None:
    assert asks_to_confirm(message.lower())


@pytest.mark.parametrize(
    "message",
    [
        *("Your order has been cancelled.", "I have updated the address.", "All done!"),
        *("The refund was processed successfully.", "Your booking is now complete."),
    ],
)
def test_ordinary_reports_say_that_it_is_done(message: str) -> None:
    assert reports_done(message.lower())
    assert not asks_to_confirm(f"{message} Is there anything else I can help with?".lower())


@pytest.mark.parametrize(
    "message",
    [
        *("I'm unable to cancel a delivered order.", "I am sorry, I cannot do that."),
        *("Unfortunately that is not possible.", "This ticket is not eligible for a refund."),
    ],
)
def test_ordinary_refusals_refuse(message: str) -> None:
    assert refuses(message.lower())


def test_words_ask_for_a_fact() -> None:
    assert asks_for("zip", "may i have your zip code?")
    assert asks_for("lamp_colour", "which lamp colour?")
    assert asks_for("payment", "how should we pay you?", ("pay you",))
    assert not asks_for("zip", "what is your name?")

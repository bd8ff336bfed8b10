"""The scripted user understands what an assistant of an airline says, in many words."""

import itertools

import pytest
from tau_players import answers

from gem_tau.domains.airline.tasks import draw_task
from gem_tau.scenario import Goal, Scenario

NEXT = "And now the next thing."
YES = "Yes, please go ahead."
GOALS = {
    "cancel": {"say": "cancel", "fact": "reservation_id"},
    "book": {"say": "ook a", "fact": "insurance"},
    "changing": {"say": "more checked bag", "changes": True},
    "question": {"kind": "question", "say": "get back"},
    "refusal": {"kind": "refusal", "say": "destination"},
}


def goal_of(*, kind="request", say="", fact="", changes=False):
    """Return the scenario of a drawn goal, followed by another one, and the goal."""
    for task in (draw_task(seed, 3) for seed in range(400)):
        for goal in task.scenario.goals:
            names = {one.name for one in goal.facts}
            fits = goal.kind == kind and say in goal.say and bool(goal.change) == changes
            if fits and (not fact or fact in names):
                identity, unknown = task.scenario.identity, task.scenario.unknown
                goals = (goal, Goal(NEXT))
                return Scenario(goals=goals, identity=identity, unknown=unknown), goal
    raise AssertionError("there is no such goal")


@pytest.fixture(scope="module")
def goals():
    return {name: goal_of(**wanted) for name, wanted in GOALS.items()}


WHO = [
    "Could you please provide your user ID?",
    "May I have your user ID so I can look up your profile?",
    "To get started, please share your user id.",
    "I'd be happy to help. What's your user ID?",
    "Can you give me your username?",
    "Please confirm your user ID so I can proceed.",
    "Sure! Could I get your account ID?",
    "What is the user id on your profile?",
    "I can help with that! To proceed, I'll need your user ID first.",
    "Could you verify your identity by giving me your user ID?",
    "Happy to assist. Please tell me your customer ID.",
    "Before I can do this, I need to know your user ID.",
    "For security, could you confirm your user ID?",
    "Let me pull up your account. What's the user ID?",
    "Please provide your user ID and the reservation number.",
    "Who am I speaking with? I need your user id.",
    "Could you please let me know your user ID (for example, anna_doe_1234)?",
    "Kindly share your User ID.",
    "I'll need:\n1. Your user ID\n2. The reservation number",
    "What's your user_id?",
]
WHICH = [
    "Could you tell me the reservation number?",
    "Which reservation would you like to cancel?",
    "Do you have the reservation ID?",
    "Please provide the confirmation number.",
    "What is the booking reference?",
    "Which trip is this about?",
    "Which of your reservations do you mean?",
    "Could you share the reservation ID, or describe the trip?",
    "What's the confirmation code?",
    "Do you know the six-character reservation code?",
    "I see several reservations on your profile. Which one should I work on?",
    "You have three reservations: A, B and C. Which one is it?",
    "Can you give me the route and date of the reservation?",
    "What's the record locator?",
    "Please tell me the booking number.",
    "Could you specify the trip you mean?",
    "Which booking should I look at?",
    "Is it the trip from Boston to Denver?",
    "Please confirm which reservation you are referring to.",
    "Which flight are you talking about?",
]
WHY = [
    "May I ask the reason for the cancellation?",
    "Why do you want to cancel?",
    "Could you tell me why you are cancelling?",
    "Please let me know the reason (change of plans, airline cancelled flight, or other).",
    "To check eligibility, I need to know the reason.",
    "What is prompting the cancellation?",
    "Is it due to health, weather, or a change of plans?",
    "Can I ask what made you decide to cancel?",
]
PAY = [
    "How would you like to pay?",
    "Which payment method should I use?",
    "Which card should I charge?",
    "Which payment method would you like to use for the difference?",
    "Please choose a payment method: credit card ending in 1234 or gift card.",
    "What payment should I put this on?",
    "Should I use the card on file?",
    "Do you want to use your gift card or your credit card?",
    "How do you want to cover the cost?",
]
CONFIRM = [
    "Do you confirm? (yes/no)",
    "Would you like me to proceed?",
    "Shall I go ahead and book it?",
    "Please reply 'yes' to confirm.",
    "Is that correct?",
    "Does that look right?",
    "Can you confirm that you want me to do this?",
    "Do you want me to go ahead with this?",
    "Do you agree to these changes?",
    "Are you sure you want this?",
    "May I go ahead?",
    "Do I have your permission to proceed?",
    "Please confirm (yes) to continue.",
    "Is this okay with you?",
    "If everything looks good, please say yes and I'll make the change.",
    "Should I book it?",
    "Ready for me to book this?",
    "Please let me know if you'd like me to proceed.",
    "Would you like me to book this flight for you?",
    "Do you want to continue with the booking?",
]
DONE = [
    "Your reservation has been cancelled.",
    "Done! The bags have been added.",
    "I've cancelled your reservation.",
    "All set! You'll get a refund within 7 days.",
    "The reservation was successfully updated.",
    "Your booking is confirmed. The reservation number is HATHAT.",
    "Your reservation is now cancelled.",
    "I have updated the passenger's name.",
    "The change is complete.",
    "Your flight has been changed to GC123 on May 20.",
    "I successfully booked your flight.",
    "The certificate has been issued.",
    "I've sent you a certificate of $200.",
    "Your flight is booked!",
    "Great news, your upgrade went through.",
    "The cabin has been changed to business and $120 was charged to your card.",
    "I booked the flight. Your reservation ID is HATHAT.",
    "Your refund is on its way; the reservation is cancelled.",
    "I've added two bags to your reservation. Is there anything else?",
    "Cancellation complete.",
]
REFUSED = [
    "I'm sorry, but this cannot be done.",
    "Unfortunately, I can't change basic economy flights.",
    "This reservation is not eligible for cancellation.",
    "Our policy doesn't allow that.",
    "I'm afraid that isn't possible.",
    "I'm unable to add insurance after booking.",
    "Unfortunately, it does not qualify for a refund.",
    "Bags can only be added, not removed.",
    "The number of passengers cannot be changed.",
    "Regrettably, basic economy flights aren't changeable.",
    "I must decline this request.",
    "I won't be able to do that.",
    "Insurance can't be added after the initial booking.",
    "You are not eligible for compensation.",
    "That's not something our policy permits.",
    "I apologize, but I'm not able to offer compensation in this case.",
    "Sorry, no compensation can be offered here.",
    "The destination of a reservation must stay the same, so I have to deny this.",
    "We do not permit changes to the destination.",
    "This is against our policy.",
]
ANSWERED = [
    "Your gift cards are worth $457 in total.",
    "The total refund would be $1,234.",
    "You paid $812 for this reservation.",
    "You would get back $430. Would you like me to cancel it?",
    "The cheapest flight costs $215 in economy.",
    "You'd get back $430. Let me know if you would like to cancel.",
    "For your reservation ABC123, six more checked bags would cost $250.",
    "I've checked your reservation: the total paid is $812.",
]
DETAILS = {
    "cabin": [
        "Which cabin would you like?",
        "What class do you want to fly in: basic economy, economy or business?",
        "Do you prefer economy or business?",
    ],
    "flight": [
        "Which flight would you like?",
        "Here are the options. Which one do you prefer?",
        "Do you have a preferred departure time?",
        "I found these:\n- GC101 at 06:00, $120\n- GC102 at 09:00, $99\nWhich of these is it?",
        "Do you prefer a direct flight or one with a stop?",
        "What time of day would you like to leave?",
    ],
    "passengers": [
        "How many passengers are travelling?",
        "Who will be travelling?",
        "Please give me each passenger's first name, last name and date of birth.",
        "Is it just you, or will anyone else fly?",
        "Are you traveling alone?",
    ],
    "baggage": [
        "How many bags would you like to check?",
        "Will you have any checked luggage?",
        "How many checked bags in total?",
    ],
    "insurance": [
        "Would you like travel insurance for $30 per passenger?",
        "Do you want to add insurance?",
        "Should I include the travel insurance?",
    ],
    "payment": PAY,
    "date": ["What date would you like to fly?", "When do you want to travel?"],
    "trip_type": ["Is it a one-way or a round trip?", "Will you be returning?"],
    "destination": ["Where would you like to go?", "What's your destination?"],
    "origin": ["Where are you flying from?", "What airport will you depart from?"],
}


def fact(goal, name):
    return next(one.say for one in goal.facts if one.name == name)


@pytest.mark.slow
def test_the_user_tells_the_user_id_when_asked(goals, subtests):
    for message in WHO:
        with subtests.test(message):
            for scenario, _ in goals.values():
                assert scenario.identity[0].say in answers(scenario, message)[0]


def test_the_user_tells_which_reservation_it_means(goals, subtests):
    scenario, goal = goals["cancel"]
    for message in WHICH:
        with subtests.test(message):
            (answer,) = answers(scenario, message)
            assert fact(goal, "reservation_id") in answer or fact(goal, "trip") in answer


def test_the_user_tells_the_reason_when_asked(goals, subtests):
    scenario, goal = goals["cancel"]
    for message in WHY:
        with subtests.test(message):
            assert fact(goal, "reason") in answers(scenario, message)[0]


def test_the_user_tells_how_to_pay_before_it_changes_its_mind(goals, subtests):
    scenario, goal = goals["changing"]
    for message in PAY:
        with subtests.test(message):
            said = answers(scenario, message, CONFIRM[0])
            assert fact(goal, "payment") in said[0]
            assert said[1] == goal.change


def test_the_user_tells_the_details_of_a_booking_when_asked(goals, subtests):
    scenario, goal = goals["book"]
    for name, messages in DETAILS.items():
        for message in messages:
            with subtests.test(f"{name}: {message}"):
                assert fact(goal, name) in answers(scenario, message)[0]


def test_the_user_agrees_when_asked_to_confirm(goals, subtests):
    scenario, goal = goals["changing"]
    for message in CONFIRM:
        with subtests.test(message):
            assert answers(goals["book"][0], message)[0].endswith(YES)
            changed, agreed = answers(scenario, message, message)
            assert changed == goal.change
            assert agreed.endswith(YES)


def test_the_user_states_its_next_goal_when_one_is_done(goals, subtests):
    for message in DONE:
        with subtests.test(message):
            assert answers(goals["book"][0], CONFIRM[0], message)[1] == NEXT


def test_the_user_stays_at_a_goal_until_it_has_agreed(goals, subtests):
    for message in DONE[:3]:
        with subtests.test(message):
            assert answers(goals["book"][0], message)[0] != NEXT


def test_the_user_accepts_a_refusal_that_it_expects(goals, subtests):
    for message in REFUSED:
        with subtests.test(message):
            assert answers(goals["refusal"][0], message)[0] == NEXT


def test_the_user_takes_an_answer_and_leaves_an_offer_that_comes_with_it(goals, subtests):
    for message in ANSWERED:
        with subtests.test(message):
            assert answers(goals["question"][0], message)[0] == NEXT


def test_the_user_does_not_take_a_question_for_an_answer(goals, subtests):
    for message in itertools.chain(WHO, WHICH, WHY):
        with subtests.test(message):
            assert answers(goals["question"][0], message)[0] != NEXT

"""The scripted user understands what assistants of a shop ordinarily write at each step."""

import functools
from random import Random

import pytest
from selection import some
from tau_players import answers, played

from gem_core.agent import BaseAgent
from gem_tau.domains.retail.tasks import sample
from gem_tau.env import make_dialogue
from gem_tau.oracle import written
from gem_tau.scenario import Goal, Scenario
from gem_tau.sources import ListedTasks

NEXT = Goal("I have another wish.")
AGREE = "Yes, please go ahead."
IDENTITY = """\
To get started, could you please provide your email address?
I'd be happy to help. May I have your email, please?
First, I need to verify your identity. What's your email or your full name and zip code?
Sure! Can you confirm your name and zip code?
Before I proceed, I need to authenticate you. Please share your first name, last name and ZIP.
Could you tell me who you are?
To look up your account, please give me your email.
Please provide your email address so I can locate your account.
I can help with that! To proceed, may I have your full name and postal code?
In order to proceed, please confirm your identity: your email address, or name and zip code.
Let me help. What is the email associated with your account?
I'll need to identify you first. Your name and zip, please.
Thanks for reaching out. Please verify your account: email or name + zip code.
Could I get your name please?
Could you share your e-mail address or, if you don't remember it, your name and zip code?
For security purposes, I need to confirm your identity first.
Sorry, I couldn't find that email. Could you provide your name along with your zip code?
I can't look up your order without verifying your identity. What is your name and zip code?
Please tell me the name on the account.
How can I look you up in our system?
"""
ORDER = """\
Which order would you like to cancel?
Could you give me the order number?
What's the order ID?
Please provide the order id of the order in question.
Can you tell me which one you mean?
Do you have the order number handy?
Could you please confirm the order number?
Which of your orders is it?
May I know the order number please?
I see several orders. Which order do you mean?
To proceed, I need the order ID.
I found two pending orders: #W1 and #W2. Which one should be cancelled?
What is the number of the order?
Could you specify the order?
Please share your order number so I can proceed.
I need to know which order this is about. Could you tell me the order id?
Your order number, please?
Do you remember the order #?
Which pending order would you like me to cancel?
Before I can go ahead, which order is it?
"""
REASON = """\
What is the reason for the cancellation?
Could you tell me why you would like to cancel it?
May I ask for the reason? It can be 'no longer needed' or 'ordered by mistake'.
Before I proceed, please tell me the reason: no longer needed or ordered by mistake?
Is it no longer needed, or was it ordered by mistake?
Please confirm the reason for cancellation.
I need a reason to proceed with the cancellation.
Why do you want to cancel?
What's the cancellation reason?
Could you provide the reason - either "no longer needed" or "ordered by mistake"?
In order to proceed, I need to know why you're cancelling.
Was this ordered by mistake?
Can you confirm why you want to cancel?
To cancel the order I require a reason.
Please choose a reason.
Do you no longer need it, or was it a mistake?
I can cancel that. What's your reason?
Which reason applies: no longer needed / ordered by mistake?
Thanks. And the reason, please?
Is there a particular reason?
"""
PROPOSALS = """\
I'll cancel order #W123 (no longer needed) and refund $45.10 to PayPal. Do you confirm (yes/no)?
Shall I go ahead and cancel the order?
Would you like me to proceed with the cancellation?
Please reply "yes" to proceed.
Do you want me to cancel it?
Is that correct?
Here are the details: ... Does this look right?
Can you confirm that you'd like to cancel order #W123?
Please confirm: cancel order #W123 for $20.
Are you sure you want to cancel this order?
I will cancel #W1. OK?
Should I cancel order #W1 now?
Do I have your permission to cancel the order?
Please confirm with a yes or no.
Would you like to proceed?
Are you okay with this?
Do you agree to these changes?
Is everything correct? If so, reply yes.
Before I cancel it, please confirm these details.
Just to confirm, you want to cancel order #W1, right?
Once you confirm, I'll cancel the order.
To proceed with the cancellation, I need your explicit confirmation (yes).
Do you still want to cancel it?
May I cancel the order?
If you'd like me to go ahead, please say yes.
Sounds good?
"""
REPORTS = """\
Your order has been cancelled. Is there anything else I can help you with?
I've cancelled order #W1. You'll get your refund in 5 to 7 business days.
Done! Your order was cancelled.
The cancellation was successful.
All set! Order #W123 is now cancelled.
Your order is cancelled.
The order has been successfully cancelled.
I have updated the shipping address.
The exchange has been requested. You will receive an email with instructions.
Your return request has been submitted.
I've processed the return for the hammock.
I've successfully modified the items in your order.
The payment method has been changed to PayPal.
Your default address is now updated.
You'll receive an email with the return instructions shortly.
I went ahead and cancelled it. Anything else?
The exchange is complete.
The items in your order were modified.
Your address has been changed to 12 Mill Street.
I cancelled the order as requested. What else can I do for you?
That's done. Your refund of $45 has been issued.
Great news, the cancellation went through. Can I help you with anything else?
The change is done.
I have now exchanged the items.
"""
NO_REPORTS = """\
I found your order, which has been delivered. One moment.
Thank you, your identity has been verified. Which order is it?
I have located your account. What is the reason?
Thank you, Mara. I've found your profile.
Let me check that for you.
I'm processing this now, please hold on.
One moment please while I cancel the order.
Your order has been processed.
Your order was placed on Monday.
I'll cancel it right away.
Is there anything else you'd like to change in this order before I submit it?
Are there any other items you want to return?
"""
REFUSALS = """\
I'm sorry, but I can't cancel this order because it has already been processed.
Unfortunately, this order cannot be cancelled.
I'm unable to do that. Would you like me to help with something else?
That's not possible, I'm afraid. Would you like me to transfer you to a human agent?
Our policy doesn't allow exchanging for a different product.
Refunds must go to the original payment method or a gift card.
Only pending orders can be cancelled. Is there anything else I can help with?
Sorry, I am not able to change a processed order. Shall I check your other orders?
I can only cancel orders for two reasons: no longer needed or ordered by mistake.
It is against our policy to access another customer's orders. Do you confirm that you understand?
Removing an item isn't possible; would you like to cancel the whole order instead?
This order is no longer eligible for cancellation.
I have to decline this request.
I won't be able to help with an order that belongs to someone else.
We do not allow that.
The order has already been processed and can no longer be modified.
I apologize, but I'm not permitted to do that.
Regrettably, I couldn't do that for you.
That isn't something I can do.
I'm afraid that's impossible.
Unfortunately, processed orders are not eligible for changes.
Unfortunately that is not supported. Anything else?
"""
PAYMENT = """\
Which payment method would you like to use for the difference?
How would you like to pay the difference of $12.30?
Should the refund go to your PayPal or your gift card?
You have a credit card and a PayPal account on file. Which do you prefer?
Where should the refund go?
What payment method should I use?
Which card should I charge?
Please tell me the payment method for the price difference.
Would you like the refund on the original payment method or a gift card?
To which payment method should I refund the price difference?
Could you specify how you'd like to pay?
Please provide a payment method.
Which account should I use for the payment?
How do you want to handle the $3 price difference?
I need a payment method to proceed.
Do you want to use your gift card?
Which method of payment?
Please choose: PayPal or credit card ending in 1234.
What form of payment would you like to use?
How should I process the refund?
"""
OPTIONS = """\
Which option would you like instead?
What color would you like?
What would you like to exchange it for?
Which variant do you want?
Which size do you prefer?
What would you like to receive instead?
Please tell me which new item you'd like.
What are you looking for?
Which version would you like?
What should it be replaced with?
Could you describe the item you want in exchange?
Available colors are red, blue, and green. Which one would you like?
What would you like to change it to?
Please specify the color and size you'd like.
What specifications do you want?
Do you have a preference for color?
Which of these would you like?
What new options do you want?
Let me know which hammock you'd prefer.
What do you have in mind?
"""
ITEMS = """\
Which item would you like to exchange?
Which items from the order do you mean?
What item is it?
Which product would you like to exchange?
Which of the items would you like to return?
Can you tell me which items you want to return?
Please list the items you'd like to return.
What would you like to return?
Which items should I return?
Would you like to return everything or only some items?
Could you provide the item id?
Do you want to return all of the items?
What are the items?
Please let me know which items are affected.
Which products from that order?
Could you specify the items?
"""
ADDRESS = """\
What is the new address?
Where should I send it?
Please provide the full new address, including street, city, state and zip code.
Could you give me the address you'd like it shipped to?
What address would you like to use?
Where would you like it delivered?
What's the new shipping address?
Please share the complete address.
Which address should I use?
I need the new address to proceed.
May I have the street, city, state, and zip?
Where to?
What should the new one be?
Please tell me where you'd like the order shipped.
To proceed, please provide the new shipping address.
Can you tell me the correct address?
Which street and number?
What is the full address, please?
Should it go to another street?
Please give me the complete shipping details: address, city, state and zip code.
"""
ANSWERS = """\
The total was $54.21.
You have $12.31 left on your gift card. Is there anything else?
Your tracking id is 123456789012.
The cheapest one costs $20.45. Let me know if you have other questions.
The difference is $1.87.
There are twelve variants in stock.
You paid $120.11 for that order.
The green one is $3.20 cheaper.
I checked: your gift card has $20.
Your order totals $99.12. Can I help you with anything else?
It costs $12.31 more.
According to our records the balance is $12.31.
"""
NO_ANSWERS = """\
Let me check that for you.
One moment, please.
Sure, I'll look that up.
Which hammock do you mean?
To help you, may I have your email address?
I need to verify your identity first. What is your name?
Of course. Please hold on while I retrieve the information.
I can help you with that! Let me look into your order.
Give me a moment.
I'll check the stock for you now.
Bear with me.
Could you tell me which card you mean?
"""


@functools.cache
def tasks():
    return sample().tasks


def goal_with(*names, kind="request", words=""):
    """Return the first goal of the listed tasks that has facts with some names."""
    goals = (goal for task in tasks() for goal in task.scenario.goals)
    return next(
        goal
        for goal in goals
        if goal.kind == kind
        and words in goal.say
        and not (goal.change or goal.condition)
        and {fact.name for fact in goal.facts} >= set(names)
    )


def fact(goal, name):
    return next(fact.say for fact in goal.facts if fact.name == name)


def reply(goal, *messages, identity=()):
    """Return what the user answers to the last message, about a goal that has a next one."""
    scenario = Scenario((goal, NEXT), identity, ("email", "user_id", "order_id"))
    return answers(scenario, *messages)[-1]


@pytest.fixture(scope="module")
def goals():
    return {
        "cancel": goal_with("order_id", "reason", words="cancel"),
        "swap": goal_with("options", "items", "payment", "order_id", words="exchange"),
        "move": goal_with("address", words="another address"),
        "question": goal_with(kind="question"),
        "refused": goal_with("reason", kind="refusal"),
    }


@pytest.fixture(scope="module")
def people():
    """What users of each kind tell about themselves, by the number of facts."""
    return {len(task.scenario.identity): task.scenario.identity for task in tasks()}


@pytest.mark.slow
def test_the_user_tells_the_identity_when_asked(goals, people, subtests):
    for number, identity in people.items():
        for message in IDENTITY.splitlines():
            with subtests.test(f"{number} facts: {message}"):
                answer = reply(goals["cancel"], message, identity=identity)
                told = any(one.say in answer for one in identity)
                assert told or "do not know my email" in answer
                assert AGREE not in answer


def test_the_user_tells_a_fact_of_its_goal_when_asked(goals, subtests):
    asked = [
        ("order_id", ORDER, "cancel"),
        ("reason", REASON, "cancel"),
        ("payment", PAYMENT, "swap"),
        ("options", OPTIONS, "swap"),
        ("address", ADDRESS, "move"),
    ]
    for name, messages, wish in asked:
        for message in messages.splitlines():
            with subtests.test(f"{name}: {message}"):
                answer = reply(goals[wish], message)
                assert fact(goals[wish], name) in answer
                assert AGREE not in answer


def test_the_user_tells_the_items_or_its_whole_wish_when_asked_for_items(goals, subtests):
    swap = goals["swap"]
    for message in ITEMS.splitlines():
        with subtests.test(message):
            answer = reply(swap, message)
            assert fact(swap, "items") in answer or swap.say in answer
            assert AGREE not in answer


def test_the_user_agrees_to_a_proposal(goals, subtests):
    for message in PROPOSALS.splitlines():
        with subtests.test(message):
            assert AGREE in reply(goals["cancel"], message)


def test_the_user_states_its_next_wish_after_a_report_that_the_first_is_done(goals, subtests):
    for message in REPORTS.splitlines():
        with subtests.test(message):
            assert reply(goals["cancel"], "Do you confirm? (yes/no)", message) == NEXT.say


def test_the_user_stays_at_a_wish_after_a_message_that_does_not_report(goals, subtests):
    for message in NO_REPORTS.splitlines():
        with subtests.test(message):
            assert reply(goals["cancel"], "Do you confirm? (yes/no)", message) != NEXT.say


def test_the_user_accepts_a_refusal_that_it_expects(goals, subtests):
    for message in REFUSALS.splitlines():
        with subtests.test(message):
            assert reply(goals["refused"], message) == NEXT.say


def test_the_user_states_its_next_wish_after_an_answer(goals, subtests):
    for message in ANSWERS.splitlines():
        with subtests.test(message):
            assert reply(goals["question"], message) == NEXT.say


def test_the_user_repeats_a_question_that_a_message_does_not_answer(goals, people, subtests):
    for message in NO_ANSWERS.splitlines():
        with subtests.test(message):
            assert reply(goals["question"], message, identity=people[3]) != NEXT.say


QUESTIONS = {
    "order_id": ORDER,
    "items": ORDER,
    "reason": REASON,
    "payment": PAYMENT,
    "options": OPTIONS,
    "address": ADDRESS,
}


class Talker(BaseAgent):
    """Does what the reference does, but asks for every fact, and draws all that it says."""

    def __init__(self, seed):
        self.rng = Random(seed)

    def say(self, text):
        return self.rng.choice(text.splitlines())

    def reset(self, env):
        task = env.unwrapped.env.running_task
        self.goals = task.scenario.goals
        self.plan = [(0, self.say(IDENTITY))]
        for number in range(len(self.goals)):
            self.plan += [(number, text) for text in self.serve(task, number)]
        self.current, self.last = 0, ""

    def serve(self, task, number):
        """Return the messages and calls that serve a goal."""
        goal, kind_of = self.goals[number], task.domain.toolkit.kind_of
        calls = [call for call in task.actions if call.goal == number]
        writes = [written(call) for call in calls if kind_of(call.name) == "write"]
        texts = [written(call) for call in calls if kind_of(call.name) == "read"]
        texts += [self.say(QUESTIONS[fact.name]) for fact in goal.facts]
        texts += [self.say(PROPOSALS), *writes] if writes else []
        answers = [mention.text for mention in task.communicate if mention.goal == number]
        return [*texts, self.end_of(goal, answers)]

    def end_of(self, goal, answers):
        if goal.kind == "refusal":
            return self.say(REFUSALS)
        return f"It is {answers[0]}." if answers else self.say(REPORTS)

    def act(self, observation, info):
        """Go on with the plan; the user has to be at the goal that is served."""
        says = [goal.say for goal in self.goals]
        if str(observation) in says[self.current :]:
            self.current = says.index(str(observation))
        if self.last not in PROPOSALS.splitlines() or "yes" in str(observation).lower():
            number, self.last = self.plan.pop(0) if self.plan else (self.current, "Anything else?")
            assert number == self.current
        return self.last


@pytest.mark.slow
def test_an_assistant_that_says_it_in_any_ordinary_way_is_paid(subtests):
    env = make_dialogue(tasks=ListedTasks(tasks()), max_turns=60)
    for number in some(range(len(tasks()))):
        with subtests.test(f"task {number}"):
            reward, info = played(env, Talker(number), number)
            assert reward == 1.0, (info["reward_details"], env.unwrapped.env.dialogue)

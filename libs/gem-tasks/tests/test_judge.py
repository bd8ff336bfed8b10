"""A judge gives a score; a reply that is not a verdict is asked for again, and then a fault."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_core.agent import BaseAgent, Generation, Reply, ScriptedAgent
from gem_core.errors import ConfigError
from gem_core.maybe_async import drive
from gem_core.specs import AgentSpec
from gem_rollout import collect
from gem_rollout.episodes.policy import Budget
from gem_tasks import Attempt
from gem_tasks.judge import Asker, Judge, JudgeError, objects_in

EXAMPLES = 100 if thorough() else 20

GOOD = '{"reason": "It is right.", "score": 1}'


def attempt(response="6", **fields):
    return Attempt("What is 3 + 3?", response, response, ("6",), **fields)


def judged(*replies, **options):
    return Judge(agent=ScriptedAgent(replies), **options)(attempt())


class Recorder(BaseAgent):
    """Answers in turn, and keeps what it is shown."""

    def __init__(self, *replies):
        self.replies, self.shown = list(replies), []

    def reset(self, env):
        self.turn = 0

    def act(self, observation, info):
        self.shown.append(observation)
        self.turn += 1
        return self.replies[min(self.turn, len(self.replies)) - 1]


def paid(text, tokens=10, cost=0.5):
    used = Generation(prompt_tokens=tokens, completion_tokens=1, cost=cost)
    return Reply(text, used)


class Later(BaseAgent):
    """Answers after a while, or never."""

    def __init__(self, reply=None):
        self.reply = reply

    async def act(self, observation, info):
        await (asyncio.sleep(0) if self.reply else asyncio.Event().wait())
        return self.reply


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        (GOOD, 1.0),
        ('Well. {"score": 0.25}', 0.25),
        ('{"score": 0}', 0.0),
        ('First {"score": 0}, but no: ```json\n{"score": 1.0}\n``` Done.', 1.0),
        ('{"reason": "He wrote {\\"score\\": 1}", "score": 0.5}', 0.5),
    ],
)
def test_the_score_is_read_from_the_last_verdict(reply, value):
    assert judged(reply).reward == value


def test_the_scale_is_mapped_to_0_and_1():
    grade = judged('{"score": 7, "reason": "fine"}', scale=[1, 10], correct_from=6)
    assert grade.reward == pytest.approx(6 / 9)
    assert grade.correct
    assert grade.info == {"score": 7.0, "reason": "fine"}
    assert not judged('{"score": 7}', scale=[1, 10]).correct


@pytest.mark.parametrize(
    "bad",
    ["", "It is right.", "{}", '{"score": "1"}', '{"score": true}', '{"score": 2}', '{"score":'],
)
def test_a_reply_that_is_not_a_verdict_is_asked_for_again(bad):
    assert judged(bad, bad, GOOD).reward == 1.0
    with pytest.raises(JudgeError, match="no verdict in 3 replies: end with a JSON object"):
        judged(bad, bad, bad, GOOD)
    with pytest.raises(JudgeError, match="in 1 replies"):
        judged(bad, GOOD, attempts=1)


@pytest.mark.parametrize("thought", ["<think>maybe {}", "<think>{}</think>", "perhaps {}</think>"])
def test_a_verdict_that_was_only_thought_of_does_not_count(thought):
    thought = thought.format('{"reason": "x", "score": 1}')
    with pytest.raises(JudgeError, match="no verdict"):
        judged(thought, attempts=1)
    if thought.endswith("</think>"):
        assert judged(thought + '{"score": 0}').reward == 0.0


def test_the_judge_is_told_what_a_verdict_is_and_sees_the_attempt():
    agent = Recorder("Good.", GOOD)
    judge = Judge(agent=agent, prompt="{question} {reference} {answer} {response} {other} {}")
    judge(attempt("{question}"))
    first, second = agent.shown
    assert first.startswith("What is 3 + 3? 6 {question} {question} {other} {}\n")
    assert '"score": 1}' in first
    assert second.startswith("That is not a verdict: end with a JSON object")
    judge(attempt("7"))
    assert "7 7" in agent.shown[2]


def test_the_default_prompt_has_the_question_the_reference_and_the_response():
    agent = Recorder(GOOD)
    Judge(agent=agent)(attempt("It is six."))
    for text in ("What is 3 + 3?", "6", "It is six."):
        assert text in agent.shown[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prompt": "Is it good?"}, "needs {response} or {answer}"),
        ({"scale": [1, 1]}, "lowest, highest"),
        ({"scale": [1]}, "lowest, highest"),
        ({"attempts": 0}, "attempts >= 1"),
        ({"timeout": 0}, "timeout > 0"),
        ({"agent": 3}, "the id of an agent"),
    ],
)
def test_wrong_parameters_say_what_is_wrong(options, message):
    with pytest.raises(ConfigError, match=message):
        Judge(**{"agent": ScriptedAgent([GOOD]), **options})


def test_a_judge_that_gives_no_reply_in_time_is_a_fault():
    async def ask():
        await Judge(agent=Later(), timeout=0.05)(attempt())

    with pytest.raises(JudgeError, match=r"no reply within 0\.05 s"):
        asyncio.run(ask())


def test_a_timeout_of_the_agent_itself_is_passed_on():
    class TimedOut(BaseAgent):
        async def act(self, observation, info):
            raise TimeoutError("of the agent")

    async def ask():
        await Judge(agent=TimedOut())(attempt())

    with pytest.raises(TimeoutError, match="of the agent"):
        asyncio.run(ask())


def test_questions_at_the_same_time_are_put_to_different_agents():
    agent = {"id": "scripted", "actions": ["no", GOOD]}
    judge = Judge(agent=agent)
    first, second = (judge._judging(attempt()) for _ in range(2))
    assert [next(one) for one in (first, second)] == ["no", "no"]
    for one in (first, second):
        with pytest.raises(StopIteration) as stop:
            one.send(one.send("no"))
        assert stop.value.value.reward == 1.0
    judge.close()
    assert judge(attempt()).reward == 1.0


def test_an_agent_object_answers_one_question_at_a_time():
    judge = Judge(agent=ScriptedAgent([GOOD]))
    running = judge._judging(attempt())
    next(running)
    with pytest.raises(JudgeError, match="give the agent by its id"):
        judge(attempt())
    running.close()
    assert judge(attempt()).reward == 1.0


def test_what_a_judge_uses_is_counted():
    grade = Judge(agent=Recorder(paid("no"), paid(GOOD)))(attempt())
    assert grade.info["spent"] == {"prompt_tokens": 20, "completion_tokens": 2, "cost": 1.0}


@pytest.mark.parametrize("reply", [GOOD, "no"])
def test_the_budget_of_a_run_includes_the_judge_even_if_it_fails(spec_of, sums, reply):
    judge = {"id": "judge", "agent": Recorder(paid(reply, tokens=50)), "attempts": 1}
    run = collect(
        spec_of(data=sums(9), rewards=["correctness", judge]),
        lambda: ScriptedAgent(["6"]),
        episodes=9,
        concurrency=1,
        budget=Budget(tokens=110),
    )
    played = list(run)
    assert (len(played), run.report.ended_by) == (2, "tokens")
    assert (run.report.total.tokens, run.report.total.cost) == (102, 1.0)
    faults = [one.error and one.error["boundary"] for one in played]
    assert faults == [None if reply == GOOD else "grader"] * 2


def test_an_error_has_what_all_graders_used_before_it(make_sums, sums):
    class Breaks(Recorder):
        def act(self, observation, info):
            if self.turn:
                raise OSError("gone")
            return super().act(observation, info)

    judges = [
        {"id": "judge", "agent": agent} for agent in (Recorder(paid(GOOD)), Breaks(paid("no")))
    ]
    parts = [{**judge, "name": name} for judge, name in zip(judges, "ab", strict=True)]
    env = make_sums(
        data=sums(3), grader={"id": "judge", "agent": Recorder(paid(GOOD))}, rewards=parts
    )
    env.reset(seed=0)
    with pytest.raises(OSError, match="gone") as caught:
        env.step("6")
    assert caught.value.spent == {"prompt_tokens": 30, "completion_tokens": 3, "cost": 1.5}
    env = make_sums(data=sums(3), grader=judges[0], rewards=[{**judges[0], "name": "again"}])
    env.reset(seed=0)
    assert env.step("6").info["spent"]["prompt_tokens"] == 20


def test_an_asynchronous_judge_grades_many_episodes_at_the_same_time(spec_of, sums):
    agent = AgentSpec(id="later", entry_point=Later, kwargs={"reply": GOOD})
    judge = {"id": "judge", "agent": agent}
    played = list(
        collect(spec_of(data=sums(9), rewards=[judge]), lambda: ScriptedAgent(["6"]), episodes=9)
    )
    assert [one.episode_return for one in played] == [1.0] * 9


@settings(max_examples=EXAMPLES)
@given(st.text(alphabet='{}[]":, score0123456789.eE+-\\n"', max_size=200))
def test_no_text_breaks_the_reading_of_verdicts(text):
    assert all(isinstance(one, dict) for one in objects_in(text))


@pytest.mark.slow
def test_long_replies_that_are_almost_verdicts_can_be_read():
    for text in ("{" * 10_000, '{"a":' * 2_000, '{"score": 1}' * 800):
        objects_in(text)


def test_an_asker_reads_any_kind_of_verdict():
    def yes(text):
        if text not in {"yes", "no"}:
            raise ValueError("write yes or no.")
        return text == "yes"

    asker = Asker(ScriptedAgent(["perhaps", "yes"]))
    assert drive(asker.asking("Is it?", yes)) == (True, {})

"""A judge behind an endpoint: its scores, its faults and what it costs."""

import pytest

from gem_agents.testing.endpoint_server import EndpointServer
from gem_core.agent import ScriptedAgent
from gem_core.specs import EnvSpec
from gem_rollout import Budget, collect

ROWS = [{"question": f"What is {n} + {n}?", "answer": str(2 * n)} for n in range(8)]
GOOD = '{"reason": "It answers the question.", "score": 0.5}'


@pytest.fixture
def server():
    with EndpointServer(GOOD) as server:
        yield server


def play(server, episodes=4, budget=None, timeout=30.0, **agent):
    agent = {
        "id": "openai",
        "model": "scripted",
        "base_url": server.url,
        "max_attempts": 1,
        **agent,
    }
    judge = {"id": "judge", "agent": agent, "timeout": timeout}
    spec = EnvSpec(
        id="acme:Judged",
        entry_point="gem_tasks.dataset_env:DatasetEnv",
        kwargs={"data": ROWS, "form": "text", "rewards": ["correctness", judge]},
    )
    return collect(
        spec, lambda: ScriptedAgent(["none"]), episodes=episodes, budget=budget, concurrency=2
    )


def test_each_episode_is_one_question_of_its_own(server):
    played = list(play(server, prices={"input": 1e6, "output": 0}))
    assert [one.error for one in played] == [None] * 4
    for one in played:
        info = one.turns[-1].info
        assert info["rewards"] == {"correctness": 0.0, "judge": 0.5}
        assert info["reward_details"]["judge"]["score"] == 0.5
        assert info["spent"]["cost"] == info["spent"]["prompt_tokens"] > 0
        assert one.episode_return == 0.5
    assert [len(asked["messages"]) for asked in server.asked] == [1] * 4
    assert "none" in server.asked[0]["messages"][0]["content"]


def test_a_reply_without_a_verdict_is_corrected_in_the_same_chat(server):
    server.set_reply(["It is fine.", GOOD])
    (played,) = play(server, episodes=1)
    assert played.episode_return == 0.5
    roles = [message["role"] for message in server.asked[-1]["messages"]]
    assert roles == ["user", "assistant", "user"]


@pytest.mark.parametrize(
    ("faults", "reply", "kind"),
    [
        (["500"], GOOD, "ServerError"),
        (["401"], GOOD, "AccessError"),
        (["malformed"], GOOD, "MalformedReplyError"),
        ([], "I cannot say.", "JudgeError"),
    ],
)
def test_a_judge_that_fails_is_a_fault_of_the_grader(server, faults, reply, kind):
    server.set_reply(reply)
    server.set_faults(faults)
    run = play(server, episodes=1)
    (played,) = run
    assert (played.error["boundary"], played.error["type"]) == ("grader", kind)
    assert (played.turns, run.report.total.errors) == ([], {"grader": 1})


@pytest.mark.slow
def test_an_endpoint_that_hangs_is_a_fault_after_the_timeout(server):
    server.set_faults(["hang"])
    (played,) = play(server, episodes=1, timeout=0.2)
    assert played.error["type"] == "JudgeError"
    assert "no reply within 0.2 s" in played.error["message"]


def test_the_budget_of_a_run_ends_it_by_what_the_judge_uses(server):
    run = play(server, episodes=8, budget=Budget(tokens=1))
    assert len(list(run)) < 8
    assert run.report.ended_by == "tokens"
    assert run.report.total.prompt_tokens > 0

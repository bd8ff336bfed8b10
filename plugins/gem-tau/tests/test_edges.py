"""Inputs that other systems pay wrongly, each as it is written in ``edges.jsonl``."""

import json
from pathlib import Path

import pytest
from tau_folders import tau2_folder, with_criteria
from tau_toy import lending_task

import gem_core
from gem_core.agent import ScriptedAgent
from gem_rollout import play_episode
from gem_tau.env import make_dialogue
from gem_tau.sources import ListedTasks
from gem_tau.users import ModelUser

LINES = Path(__file__).with_name("edges.jsonl").read_text(encoding="utf-8").splitlines()
CASES = [json.loads(line) for line in LINES]


def of_kind(kind: str) -> list[dict]:
    found = [case for case in CASES if case["kind"] == kind]
    assert found
    return found


@pytest.mark.slow
def test_a_text_that_must_be_said_is_found_as_a_whole_word_and_as_a_number(
    tmp_path, subtests
) -> None:
    for number, case in enumerate(of_kind("must be said")):
        with subtests.test(case["said"]):
            task = with_criteria(communicate_info=case["communicate_info"])
            env = gem_core.make("tau:Retail", data=str(tau2_folder(tmp_path / str(number), [task])))
            played = play_episode(env, ScriptedAgent([case["said"]] * 9), seed=0)
            assert played.turns[-1].info["rewards"]["communicate"] == case["reward_part"]


def test_a_user_that_gives_up_is_a_fault_of_the_user_and_no_reward(subtests) -> None:
    for case in of_kind("user gives up"):
        with subtests.test(case["said"]):
            tasks = ListedTasks([lending_task(actions=(), communicate=())])
            user = ModelUser(ScriptedAgent(["Hello.", case["said"]]))
            played = play_episode(
                make_dialogue(tasks=tasks, user=user), ScriptedAgent(["25 crowns."]), seed=0
            )
            assert (played.error["boundary"], played.error["type"]) == ("agent", "UserGaveUpError")
            assert played.episode_return == 0.0


@pytest.mark.slow
def test_a_thought_does_not_hide_a_call_and_is_not_said_to_the_customer(subtests) -> None:
    for case in of_kind("thought"):
        with subtests.test(case["action"]), gem_core.make(case["family"]) as env:
            env.reset(seed=0)
            dialogue = list(env.env.dialogue)
            (call,) = env.step(case["action"]).info["tool_calls"]
            assert (call["function"], call["ok"]) == ("list_all_product_types", True)
            assert env.env.dialogue == dialogue

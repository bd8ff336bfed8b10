"""Dialogues: turns, limits, ends, rewards, copies."""

import json

import pytest
from tau_toy import lending_task

import gem_core
import gem_rollout
from gem_core.agent import ScriptedAgent
from gem_core.errors import ConfigError, UnknownIdError
from gem_core.wrappers.history import HistoryWrapper
from gem_rollout import play_episode
from gem_rollout.testing import check_multi_agent_env
from gem_tau.env import GIVES_UP, DialogueEnv, make_dialogue
from gem_tau.oracle import DialogueOracle
from gem_tau.rewards import Evidence, grade
from gem_tau.sources import ListedTasks
from gem_tau.task import Assertion, Call, Mention
from gem_tau.users import ModelUser, ScriptedUser, user_record

STOP = "###STOP###"
LEND = '{"name": "lend", "arguments": {"reader_id": "r1", "book_id": "b1"}}'


def source(**changes):
    return ListedTasks([lending_task(**changes)])


def view(user, **kwargs):
    tasks = kwargs.pop("tasks", None) or source()
    return make_dialogue(tasks=tasks, user=user, **kwargs)


def replayed(*messages):
    return {"id": "replay", "messages": list(messages)}


def play(env, *actions):
    env.reset(seed=0)
    steps = [env.step(action) for action in actions]
    return steps[-1]


def test_the_record_of_the_user_has_its_parameters_without_secrets() -> None:
    agent = {"id": "openai", "model": "m", "api_key": "planted", "max_tokens": 5}
    for user in ({"id": "model", "agent": agent}, agent):
        shown = str(user_record(user))
        assert shown == str(user).replace("planted", "(hidden)")
    said = replayed("The cookie: password=5", "Token: abc")
    assert user_record(said) == said
    assert user_record("scripted") == {"id": "scripted"}


@pytest.mark.slow
def test_both_seats_keep_the_contract() -> None:
    tasks = ListedTasks([lending_task(id=name) for name in "abc"])
    check_multi_agent_env(lambda: DialogueEnv(tasks=tasks)).raise_for_findings()


def test_the_oracle_and_the_scripted_user_solve_a_task() -> None:
    agents = {"assistant": DialogueOracle(), "user": ScriptedUser()}
    played = gem_rollout.play_agents(DialogueEnv(tasks=source()), agents, seed=1)
    last = played.turns[-1]
    assert played.error is None
    assert (last.agent, last.reward, last.action) == ("user", 1.0, STOP)
    assert last.info["rewards"] == {"db": 1.0, "communicate": 1.0}
    assert [one["path"] for one in last.info["db_diff"]] == ["copies", "loans/0"]


def test_the_assistant_sees_the_policy_once_and_the_results_of_its_calls() -> None:
    env = view(replayed("Hello"))
    observation, info = env.reset(seed=0)
    assert observation == "Hello"
    assert info["prefix"].startswith("You work in a library.")
    assert '"name": "lend"' in info["prefix"]
    step = env.step(LEND)
    assert json.loads(step.observation)["loans"] == ["b1"]
    assert step.info["tool_calls"][0] | {"output": ""} == {
        "tool": "database",
        "function": "lend",
        "arguments": {"reader_id": "r1", "book_id": "b1"},
        "id": "",
        "ok": True,
        "output": "",
        "kind": "write",
    }
    assert "prefix" not in step.info


@pytest.mark.parametrize("include_action", [True, False])
def test_the_history_keeps_the_policy_at_its_beginning(*, include_action: bool) -> None:
    env = HistoryWrapper(view(replayed("Hello")), include_action=include_action)
    env.reset(seed=0)
    assert env.step(LEND).observation.startswith("You work in a library.")


@pytest.mark.parametrize("call_format", ["hermes", "openai", "fenced"])
def test_the_assistant_may_use_any_call_format(call_format: str) -> None:
    env = view(replayed("Hello"), call_format=call_format, instructions="schemas")
    _, info = env.reset(seed=0)
    assert "lend" in [one["function"]["name"] for one in info["tool_schemas"]]
    arguments = {"reader_id": "r1", "book_id": "b1"}
    call = {"name": "lend", "arguments": arguments}
    action = {
        "hermes": f"<tool_call>{json.dumps(call)}</tool_call>",
        "openai": {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "lend", "arguments": json.dumps(arguments)},
                }
            ],
        },
        "fenced": LEND,
    }[call_format]
    step = env.step(action)
    assert "b1" in step.observation
    assert step.info["tool_messages"][0]["role"] == "assistant"


@pytest.mark.parametrize(
    "action",
    [
        LEND.replace('"arguments"', '"kwargs"'),
        f"I will lend it.\n```json\n{LEND}\n```",
        f"  {LEND}\n",
    ],
)
def test_a_call_may_be_written_in_several_ways(action: str) -> None:
    step = play(view(replayed("Hello")), action)
    assert step.info["tool_calls"][0]["ok"]


@pytest.mark.parametrize(
    "action", ['{"name": "lend", "arguments": {', '{"name": 3}', '{"name": "lend"}']
)
def test_a_malformed_call_is_answered_and_is_not_said_to_the_user(action: str) -> None:
    env = view(replayed("Hello"))
    step = play(env, action)
    assert step.observation.startswith("Error: ")
    assert not step.info["tool_calls"][0]["ok"]
    assert [speaker for speaker, _ in env.env.dialogue] == ["assistant", "user"]


@pytest.mark.parametrize("mark", ["###STOP###", "###TRANSFER###"])
def test_the_user_ends_the_dialogue(mark: str) -> None:
    step = play(view(replayed("Hello", f"Thanks. {mark}")), LEND, "25 crowns.")
    assert (step.terminated, step.reward) == (True, 1.0)
    assert step.info["ended_by"] == f"user: {mark.strip('#').lower()}"
    assert step.observation == "Thanks."


@pytest.mark.parametrize("said", [f"Sorry. {GIVES_UP}", "  \n", "<think>What do I want?</think>"])
def test_a_user_that_gives_up_is_a_fault_of_the_user_and_never_a_reward(said: str) -> None:
    env = view(replayed("Hello", said), tasks=source(actions=(), communicate=()))
    played = play_episode(env, ScriptedAgent(["25 crowns."]), seed=0)
    assert played.error is not None
    assert (played.error["boundary"], played.error["type"]) == ("agent", "UserGaveUpError")
    assert "'replay' of task 'lend-ash'" in played.error["message"]
    assert played.episode_return == 0.0


def test_a_user_from_outside_that_gives_up_is_paid_nothing() -> None:
    env = make_dialogue(tasks=source(actions=(), communicate=()), seat="user")
    step = play(env, "I would like to borrow Ash.", GIVES_UP)
    assert (step.reward, step.terminated, step.truncated) == (0.0, False, True)
    assert step.info["ended_by"] == "user_gave_up"


def test_a_thought_is_neither_said_nor_does_it_hide_a_call() -> None:
    env = view(replayed("<think>Greet.</think>Hello", "Thanks."))
    observation, _ = env.reset(seed=0)
    assert observation == "Hello"
    assert env.step(f"<think>Lend it.</think>\n{LEND}").info["tool_calls"][0]["ok"]
    env.step("<think>It is worth 25.</think>Done.")
    assert env.env.dialogue[-2:] == [("assistant", "Done."), ("user", "Thanks.")]


def test_a_transfer_ends_the_dialogue_and_is_graded() -> None:
    transfer = '{"name": "transfer_to_human_agents", "arguments": {"summary": ""}}'
    step = play(view(replayed("Hello")), transfer)
    assert (step.terminated, step.reward) == (True, 0.0)
    assert step.info["ended_by"] == "assistant: transfer"
    assert step.info["reward_details"]["communicate"] == ["25"]
    free = view(replayed("Hello"), tasks=source(actions=(), communicate=()))
    assert play(free, transfer).reward == 1.0


def test_a_limit_truncates_and_pays_nothing() -> None:
    env = view(replayed("Hello", "And?"), max_turns=2)
    step = play(env, LEND, "25 crowns.")
    assert (step.terminated, step.truncated, step.reward) == (False, True, 0.0)
    assert step.info["truncated_by"] == "max_turns"
    in_time = play(view(replayed("Hello"), max_turns=2), LEND, "25 crowns.")
    assert (in_time.terminated, in_time.reward) == (True, 1.0)


def test_failed_calls_in_a_row_end_the_dialogue() -> None:
    wrong = LEND.replace("r1", "nobody")
    step = play(view(replayed("Hello"), max_errors=2), wrong, LEND, wrong, wrong)
    assert (step.truncated, step.info["truncated_by"]) == (True, "max_errors")


def test_the_end_names_what_is_missing() -> None:
    step = play(view(replayed("Hello")), "Here you are.")
    assert step.info["rewards"] == {"db": 0.0, "communicate": 0.0}
    missing = step.info["reward_details"]
    assert missing["communicate"] == ["25"]
    assert {(one["table"], one["path"]) for one in missing["db"]} == {
        ("books", "copies"),
        ("readers", "loans/0"),
    }


def test_forks_at_every_turn_play_on_equally() -> None:
    env = view("scripted")
    env.reset(seed=3)
    oracle = DialogueOracle()
    oracle.reset(env)
    observation, forks, steps = "", [], []
    while not steps or not (steps[-1].terminated or steps[-1].truncated):
        forks.append((env.fork(), len(steps)))
        steps.append(env.step(oracle.act(observation, {})))
        observation = steps[-1].observation
    oracle.reset(env)
    actions = [oracle.act(step.observation if step else "", {}) for step in [None, *steps[:-1]]]
    for fork, turn in forks:
        assert [fork.step(action) for action in actions[turn:]] == steps[turn:]


def test_the_other_seat_can_act_from_outside() -> None:
    env = make_dialogue(tasks=source(), seat="user")
    observation, info = env.reset(seed=0)
    assert observation == "Hello! How can I help you today?"
    assert "I would like to borrow Ash." in info["prefix"]
    fork = env.fork()
    for one in (env, fork):
        observation = one.step("I would like to borrow Ash.").observation
        assert "zip code" in observation
        assert "lend" in one.step("I am Ida Holm.").observation
        assert "done" in one.step("Yes.").observation
    step = env.step(STOP)
    assert (step.terminated, step.info["rewards"]["db"]) == (True, 1.0)


def test_a_model_gets_the_scenario_with_its_first_message_and_is_recorded() -> None:
    heard = []

    class Listener(ScriptedAgent):
        def act(self, observation, info):
            heard.append((observation, info.get("prefix", "")))
            return super().act(observation, info)

    user = ModelUser(Listener(["Hello", STOP]))
    step = play(view(user), "What can I do?")
    assert step.terminated
    assert "You play a customer" in heard[0][1]
    assert "I would like to borrow Ash." in heard[0][1]
    assert heard[1] == ("What can I do?", "")
    named = view({"id": "random"})
    assert named.reset(seed=0)[1]["user"] == {"id": "random"}


def test_grading_changes_nothing_and_parts_are_multiplied() -> None:
    task = lending_task(
        env_assertions=(Assertion("has_loans", {"reader_id": "r1", "count": 1}),),
        nl_assertions=("The assistant was kind.",),
    )
    db = task.expected()
    call = Call("lend", {"reader_id": "r1", "book_id": "b1"})
    evidence = Evidence(db, [call], ["It is worth 25.00 crowns."], [("user", "Hello")])
    basis = ("db", "communicate", "actions", "env_assertions", "nl")
    found = grade(task, evidence, basis=basis, judge=lambda dialogue, statements: [True])
    assert dict(found.parts) == dict.fromkeys(basis, 1.0) | {"actions": 0.0}
    assert found.details == {"actions": [{"name": "find_book", "arguments": {"title": "Ash"}}]}
    assert found.reward == 0.0
    assert grade(task, evidence).reward == 1.0
    assert db.equals(task.expected())


@pytest.mark.parametrize(
    ("required", "said", "missing"),
    [
        ("1234", "You get 1,234.50 crowns.", ["1234"]),
        ("1234", "You get 1,234.00 crowns.", []),
        ("1,234", "You get 1234 crowns.", []),
        ("1,234", "You get 1,234 crowns.", []),
        ("1234", "You get 1 234 crowns.", ["1234"]),
        ("Ash, Elm", "I have ASH, ELM AND OAK.", []),
    ],
)
def test_case_and_commas_are_ignored_in_what_must_be_said(required, said, missing) -> None:
    task = lending_task(actions=(), communicate=(Mention(required),))
    found = grade(task, Evidence(task.fresh(), said=[said]))
    assert (found.reward, found.details.get("communicate", [])) == (float(not missing), missing)


def test_extra_reads_cost_nothing() -> None:
    read = '{"name": "find_book", "arguments": {"title": "Elm"}}'
    assert play(view(replayed("Hello")), read, LEND, read, "25").reward == 1.0


def test_statements_need_a_judge_when_the_environment_is_made() -> None:
    tasks = source(nl_assertions=("The assistant was kind.",), reward_basis=("db", "nl"))
    with pytest.raises(ConfigError, match="judge="):
        view("scripted", tasks=tasks)
    view("scripted", tasks=tasks, reward_basis=["db"])
    judge = {"id": "random"}
    with pytest.raises(ConfigError, match="judge="):
        view("scripted", tasks=source(nl_assertions=("x",)), reward_basis=["nl"])
    view("scripted", tasks=tasks, judge=judge)


@pytest.mark.parametrize("verdicts", [[], [True, True], "yes"])
def test_a_judge_with_another_number_of_verdicts_is_a_fault(verdicts: object) -> None:
    tasks = source(nl_assertions=("The assistant was kind.",), reward_basis=("nl",))
    env = view(replayed("Hello"), tasks=tasks, judge=lambda dialogue, statements: verdicts)
    env.reset(seed=0)
    with pytest.raises(gem_core.GemError, match="verdicts"):
        env.step("Goodbye.")


@pytest.mark.parametrize(
    ("answer", "reward"),
    [
        ('Well: [{"statement": 1, "reason": "...", "true": true}]', 1.0),
        ('[{"statement": 1, "true": false}]', 0.0),
        ("[]", None),
        ("It was kind.", None),
        ('[{"true": "yes"}]', None),
    ],
)
def test_an_agent_as_judge(answer: str, reward: float | None) -> None:
    from gem_tau.judge import AgentJudge, JudgeError

    tasks = source(nl_assertions=("The assistant was kind.",), reward_basis=("nl",))
    env = view(replayed("Hello"), tasks=tasks, judge=AgentJudge(ScriptedAgent([answer])))
    env.reset(seed=0)
    if reward is None:
        with pytest.raises(JudgeError, match="judge"):
            env.step("Goodbye.")
    else:
        assert env.step("Goodbye.").reward == reward


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"max_turns": 0}, "max_turns must be 1 or more"),
        ({"max_errors": -1}, "max_errors must be 1 or more"),
        ({"seat": "usr"}, "seat must be"),
        ({"instructions": "none"}, "instructions must be"),
        ({"reward_basis": ["communicat"]}, "communicate"),
        ({"reward_basis": []}, "different parts"),
        ({"reward_basis": "db"}, "different parts"),
        ({"call_format": "tags"}, "json"),
        ({"user": {"messages": []}}, "needs an id"),
        ({"user": "replay"}, "messages="),
        ({"user": {"id": "scripted", "speed": 3}}, "speed"),
        ({"user": 3}, "played by an agent"),
        ({"judge": 3}, "judge="),
    ],
)
def test_wrong_parameters_say_what_is_wrong(kwargs: dict, message: str) -> None:
    with pytest.raises(gem_core.GemError, match=message):
        make_dialogue(**{"tasks": source(), **kwargs})


def test_wrong_names_have_near_ones() -> None:
    with pytest.raises(ConfigError, match="retail-sample"):
        make_dialogue(tasks="retail-smple")
    with pytest.raises(UnknownIdError):
        make_dialogue(tasks=source(), user="oracel")
    with pytest.raises(ConfigError, match="from 0 to 0"):
        view("scripted").reset(idx=1)

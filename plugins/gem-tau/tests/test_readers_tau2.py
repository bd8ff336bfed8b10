"""The reader of tau2-bench: every field is understood, or refused with its file, task and name."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from selection import thorough
from tau_folders import (
    CANCEL,
    FIND,
    SHOP,
    play,
    tasks_or_refusal,
    tau2_folder,
    tau2_task,
    with_criteria,
)

from gem_core.agent import ScriptedAgent
from gem_core.errors import ConfigError, DataError
from gem_core.testing import check_env
from gem_tau.domains.retail import tools as retail_tools
from gem_tau.domains.retail.tools import RetailTools
from gem_tau.env import make_dialogue
from gem_tau.oracle import DialogueOracle
from gem_tau.readers import airline, retail
from gem_tau.readers.users import first_person
from gem_tau.task import Assertion, Call, Mention


def read_one(tmp_path, task):
    tau2_folder(tmp_path, [task])
    return retail(tmp_path).tasks[0]


def test_a_task_has_its_calls_texts_policy_and_parts(tmp_path) -> None:
    task = read_one(tmp_path, tau2_task())
    assert task.id == "a"
    assert task.actions == (
        Call("find_user_id_by_name_zip", FIND),
        Call("cancel_pending_order", CANCEL),
    )
    assert task.communicate == (Mention("25.5"),)
    assert task.reward_basis == ("db", "communicate")
    assert task.domain.policy == "Only cancel pending orders."


def test_the_scripted_user_tells_what_is_known_when_asked_and_nothing_else(tmp_path) -> None:
    scenario = read_one(tmp_path, tau2_task()).scenario
    (goal,) = scenario.goals
    assert goal.say == "I want to cancel my order #W1."
    names = {fact.name for fact in scenario.identity}
    assert {"name", "zip", "user_id"} <= names
    assert "email" not in names
    assert scenario.identity[0].say == "I am Nora Berg, and my zip code is 50032."
    assert scenario.unknown == ("email",)


def test_a_model_that_plays_the_user_gets_every_part_of_the_scenario(tmp_path) -> None:
    task = tau2_task()
    task["user_scenario"]["persona"] = "You are in a hurry."
    text = read_one(tmp_path, task).scenario.as_text()
    parts = task["user_scenario"]["instructions"]
    for part in ("reason_for_call", "known_info", "unknown_info", "task_instructions"):
        assert parts[part] in text
    assert "You are in a hurry." in text


def test_a_scenario_may_be_a_text(tmp_path) -> None:
    scenario = {"persona": None, "instructions": "You want to cancel #W1."}
    task = read_one(tmp_path, tau2_task(user_scenario=scenario))
    assert task.scenario.goals[0].say == "I want to cancel #W1."
    assert task.scenario.as_text() == "You want to cancel #W1."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("You are Ida. Your zip is 1.", "I am Ida. My zip is 1."),
        ("You'd like the agent to give you a refund.", "I'd like the agent to give me a refund."),
        ("Do it yourself, if you have yours.", "Do it myself, if I have mine."),
        ("Young people in Youngstown", "Young people in Youngstown"),
    ],
)
def test_the_second_person_becomes_the_first(text, said) -> None:
    assert first_person(text) == said


def test_the_oracle_is_paid_and_silence_is_not(tmp_path) -> None:
    tau2_folder(tmp_path)
    env = make_dialogue(tasks="retail", data=tmp_path)
    assert play(env, DialogueOracle()).reward == 1.0
    assert play(env, ScriptedAgent(["Hello."] * 30)).reward == 0.0


def test_splits_choose_tasks_and_base_is_the_default(tmp_path) -> None:
    tasks = [tau2_task(one) for one in "abc"]
    tau2_folder(tmp_path, tasks, {"base": ["a", "c"], "train": ["b"]})
    assert [one.id for one in retail(tmp_path).tasks] == ["a", "c"]
    assert [one.id for one in retail(tmp_path, "train").tasks] == ["b"]
    with pytest.raises(ConfigError, match=r"no split 'tain'. Did you mean 'train'\? There are:"):
        retail(tmp_path, "tain")


def test_without_a_file_of_splits_all_tasks_are_read(tmp_path) -> None:
    tau2_folder(tmp_path, [tau2_task(one) for one in "abc"])
    assert len(retail(tmp_path, "base").tasks) == 3
    with pytest.raises(ConfigError, match="no split 'test'"):
        retail(tmp_path, "test")


def test_an_id_of_a_split_that_does_not_exist_is_an_error(tmp_path) -> None:
    tau2_folder(tmp_path, splits={"base": ["a", "z"]})
    with pytest.raises(DataError, match=r"split_tasks.json: base has the id 'z'"):
        retail(tmp_path)


def test_a_split_can_leave_out_a_task_that_cannot_be_played(tmp_path) -> None:
    tau2_folder(tmp_path, [tau2_task("a"), tau2_task("b", user_tools=["x"])], {"base": ["a"]})
    assert [one.id for one in retail(tmp_path).tasks] == ["a"]


def test_compare_args_and_every_part_of_a_basis_are_kept(tmp_path) -> None:
    actions = [{"name": "cancel_pending_order", "arguments": CANCEL, "compare_args": ["order_id"]}]
    basis = ["DB", "ACTION", "NL_ASSERTION", "COMMUNICATE", "ENV_ASSERTION"]
    task = read_one(
        tmp_path, with_criteria(actions=actions, reward_basis=basis, nl_assertions=["Is kind."])
    )
    assert task.actions[0].compare == ("order_id",)
    assert task.reward_basis == ("db", "actions", "nl", "communicate", "env_assertions")
    assert task.nl_assertions == ("Is kind.",)


def test_without_a_basis_the_database_and_the_texts_count(tmp_path) -> None:
    task = tau2_task()
    del task["evaluation_criteria"]["reward_basis"]
    assert read_one(tmp_path, task).reward_basis == ("db", "communicate")


class CountingTools(RetailTools):
    def has_orders(self, user_id: str, count: int) -> bool:
        return len(self.db.get("users", user_id)["orders"]) == count


def asserting(**changes) -> dict:
    assertion = {
        "env_type": "assistant",
        "func_name": "has_orders",
        "arguments": {"user_id": "nora_berg_1", "count": 3},
        "assert_value": False,
        "message": None,
    }
    return with_criteria(env_assertions=[assertion | changes])


def test_a_condition_on_the_database_is_a_method_of_the_tools(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(retail_tools, "RetailTools", CountingTools)
    task = read_one(tmp_path, asserting())
    arguments = {"user_id": "nora_berg_1", "count": 3}
    assert task.env_assertions == (Assertion("has_orders", arguments, expected=False),)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"arguments": {"user_id": "x", "count": 3}}, "has_orders cannot be run.*TypeError"),
        ({"arguments": {"size": 3}}, "has_orders cannot be run on the database: TypeError"),
        (
            {"func_name": "find_user_id_by_email", "arguments": {"email": "nora@example.com"}},
            "find_user_id_by_email is not a condition: it returns 'nora_berg_1'",
        ),
    ],
)
def test_a_condition_that_cannot_be_checked_is_refused(
    tmp_path, monkeypatch, changes, problem
) -> None:
    monkeypatch.setattr(retail_tools, "RetailTools", CountingTools)
    with pytest.raises(DataError, match=rf"env_assertions.0: {problem}"):
        read_one(tmp_path, asserting(**changes))


def test_initial_data_are_merged_into_the_database_of_that_task_alone(tmp_path) -> None:
    patch = {"orders": {"#W2": {"status": "pending"}, "#W9": {"status": "new"}}}
    state = {"initialization_data": {"agent_data": patch, "user_data": None}}
    tau2_folder(tmp_path, [tau2_task("a", initial_state=state), tau2_task("b")])
    changed, unchanged = (one.fresh() for one in retail(tmp_path).tasks)
    assert changed.get("orders", "#W2") == SHOP["orders"]["#W2"] | {"status": "pending"}
    assert changed.get("orders", "#W9") == {"status": "new"}
    assert unchanged.get("orders", "#W2")["status"] == "delivered"
    assert changed.get("users", "nora_berg_1") is unchanged.get("users", "nora_berg_1")


def test_initial_calls_run_before_the_episode(tmp_path) -> None:
    call = {"env_type": "assistant", "func_name": "cancel_pending_order", "arguments": CANCEL}
    task = read_one(tmp_path, tau2_task(initial_state={"initialization_actions": [call]}))
    assert task.fresh().get("orders", "#W1")["status"] == "cancelled"


def test_a_snapshot_with_changed_data_restores_in_another_environment(tmp_path) -> None:
    patch = {"orders": {"#W2": {"status": "pending"}}}
    state = {"initialization_data": {"agent_data": patch}}
    tau2_folder(tmp_path, [tau2_task(initial_state=state)])
    env = make_dialogue(tasks="retail", data=tmp_path)
    env.reset(seed=0)
    env.step('{"name": "get_order_details", "arguments": {"order_id": "#W2"}}')
    twin = make_dialogue(tasks="retail", data=tmp_path)
    twin.restore(env.snapshot())
    action = json.dumps({"name": "cancel_pending_order", "arguments": CANCEL | {"order_id": "#W2"}})
    shown = env.step(action).observation
    assert json.loads(shown)["status"] == "cancelled"
    assert twin.step(action).observation == shown


SIDE = "only the assistant has tools in this domain"


UNPLAYABLE = [
    (tau2_task(oops=1), r"task 'a': 'oops' is not a field"),
    (tau2_task(evaluation_criteria=...), "evaluation_criteria: Field required"),
    (tau2_task(evaluation_criteria=None), "evaluation_criteria: must be an object; got None"),
    (tau2_task(evaluation_criteria=[]), r"evaluation_criteria: must be an object; got \[\]"),
    (tau2_task(user_scenario=...), "user_scenario: Field required"),
    (
        tau2_task(user_scenario={"instructions": None}),
        "user_scenario.instructions: must be an object; got None",
    ),
    (tau2_task(user_tools=["toggle"]), "user_tools: is not supported: a user has all tools"),
    (tau2_task(required_documents=["d"]), "required_documents: is not supported"),
    (
        tau2_task(initial_state={"message_history": [{"role": "user", "content": "Hi"}]}),
        "initial_state.message_history is not supported: the user must be next",
    ),
    (
        tau2_task(initial_state={"initialization_data": {"user_data": {"a": 1}}}),
        "initialization_data.user_data: is not supported",
    ),
    (
        tau2_task(initial_state={"initialization_data": {"agent_data": {"flights": {}}}}),
        "agent_data: 'flights' is not a table",
    ),
    (
        tau2_task(initial_state={"initialization_data": {"agent_data": {"orders": {"#W1": 1}}}}),
        "agent_data.orders.#W1: Input should be a valid dictionary; got 1",
    ),
    (
        tau2_task(
            initial_state={
                "initialization_actions": [
                    {"env_type": "user", "func_name": "think", "arguments": {}}
                ]
            }
        ),
        f"initialization_actions.0.env_type: is not supported: {SIDE}",
    ),
    (
        tau2_task(
            initial_state={
                "initialization_actions": [
                    {"env_type": "assistant", "func_name": "get_order_details", "arguments": {}}
                ]
            }
        ),
        "initialization_actions: The set-up of task 'a' fails",
    ),
    (
        with_criteria(actions=[{"name": "think", "arguments": {}, "requestor": "user"}]),
        f"actions.0.requestor: is not supported: {SIDE}",
    ),
    (
        with_criteria(actions=[{"name": "cancel_pending_orders", "arguments": {}}]),
        "0.name: 'cancel_pending_orders' is not a tool. Did you mean 'cancel_pending_order'",
    ),
    (with_criteria(actions=[{"name": "think"}]), "actions.0.arguments: Field required"),
    (with_criteria(actions={"name": "think"}), "criteria.actions: Input should be a valid list"),
    (with_criteria(reward_basis=[]), "reward_basis: List should have at least 1 item"),
    (
        with_criteria(reward_basis=["DBS"]),
        "reward_basis.0: Input should be 'DB', 'COMMUNICATE', .*; got 'DBS'",
    ),
    (
        with_criteria(communicate_info=[25]),
        "communicate_info.0: Input should be a valid string; got 25",
    ),
    (with_criteria(nl_assertion=["x"]), "Did you mean 'nl_assertions'"),
    (
        with_criteria(
            env_assertions=[{"env_type": "assistant", "func_name": "call", "arguments": {}}]
        ),
        "env_assertions.0.func_name: is not supported: the domain has no 'call'",
    ),
    (
        with_criteria(env_assertions=[{"env_type": "user", "func_name": "x", "arguments": {}}]),
        "env_assertions.0.env_type: is not supported",
    ),
]


@pytest.mark.slow
def test_what_cannot_be_played_is_named_with_file_task_and_field(tmp_path, subtests) -> None:
    path = tau2_folder(tmp_path) / "tasks.json"
    for task, problem in UNPLAYABLE:
        with subtests.test(problem):
            path.write_text(json.dumps([task]))
            with pytest.raises(DataError, match=problem) as caught:
                retail(tmp_path)
            assert str(caught.value).startswith(f"{path}: task 'a': ")


@pytest.mark.parametrize(
    ("domain", "problem"),
    [
        ("banking_knowledge", "the domain 'banking_knowledge' cannot be played here: its "),
        ("telecom", "the domain is 'telecom', and 'retail' was asked for; use tau:Telecom"),
        ("mock", "the domain is 'mock', and 'retail' was asked for; use tau:Mock"),
    ],
)
def test_other_domains_are_refused_by_name_with_the_reason(tmp_path, domain, problem) -> None:
    folder = tau2_folder(tmp_path, domain=domain)
    with pytest.raises(DataError, match=problem):
        retail(folder)
    task = tau2_task()
    task["user_scenario"]["instructions"]["domain"] = domain
    tau2_folder(tmp_path / "other", [task])
    with pytest.raises(DataError, match=problem):
        retail(tmp_path / "other")


def test_a_domain_that_nobody_knows_is_refused_with_those_that_there_are(tmp_path) -> None:
    task = tau2_task()
    task["user_scenario"]["instructions"]["domain"] = "hotel"
    tau2_folder(tmp_path, [task])
    with pytest.raises(DataError, match=r"'hotel', .* there are retail, airline, telecom, mock"):
        retail(tmp_path)


def test_a_shop_is_not_read_as_an_airline(tmp_path) -> None:
    with pytest.raises(DataError, match="the domain is 'retail', and 'airline' was asked for"):
        airline(tau2_folder(tmp_path))
    folder = tau2_folder(tmp_path / "other", domain="airline")
    with pytest.raises(DataError, match="lacks the table 'flights' of the domain airline"):
        airline(folder)


UNUSABLE = [
    ("tasks.json", "[", "tasks.json is not valid JSON"),
    ("tasks.json", "{}", "tasks.json must be a list of tasks"),
    ("tasks.json", "[]", "must be a list of tasks, with one at least"),
    ("tasks.json", "[1]", "task number 0: must be an object"),
    ("tasks.json", '[{"id": 1}]', "task number 0: id: Input should be a valid string; got 1"),
    ("tasks.json", '[{"id": "a"}, {"id": "a"}]', "task 'a': id is that of an earlier task"),
    ("tasks.json", "[" * 100_000, "tasks.json is not valid JSON"),
    ("db.json", "[]", "db.json must have an object of tables"),
    ("db.json", '{"users": {}, "orders": {}}', "lacks the table 'products'"),
    (
        "db.json",
        '{"users": {}, "orders": {"#W1": 3}, "products": {}}',
        "db.json: the record '#W1' of 'orders' is not an object",
    ),
    ("split_tasks.json", "[]", "split_tasks.json must be an object of lists"),
    ("split_tasks.json", '{"base": "a"}', "base: Input should be a valid list"),
    ("split_tasks.json", '{"base": []}', "base is empty"),
    ("policy.md", "\ud800", "policy.md cannot be read"),
]


def test_files_that_cannot_be_used_are_named(tmp_path, subtests) -> None:
    for number, (name, text, problem) in enumerate(UNUSABLE):
        with subtests.test(problem):
            folder = tau2_folder(tmp_path / str(number))
            (folder / name).write_bytes(text.encode("utf-8", "surrogatepass"))
            with pytest.raises(DataError, match=problem):
                retail(tmp_path / str(number))


@pytest.mark.parametrize("name", ["db.json", "policy.md"])
def test_a_missing_file_is_named(tmp_path, name) -> None:
    folder = tau2_folder(tmp_path)
    (folder / name).unlink()
    with pytest.raises(DataError, match=f"{name} is missing"):
        retail(tmp_path)


def paths_in(value, path=()):
    """Yield the path of every value inside a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, one in items:
        yield (*path, key)
        if isinstance(one, dict | list):
            yield from paths_in(one, (*path, key))


def change(value, data) -> None:
    """Take a field out of a JSON value, rename it, or replace it by any JSON value."""
    path = data.draw(st.sampled_from([*paths_in(value)] or [()]))
    holder = value
    for key in path[:-1]:
        holder = holder[key]
    kind = data.draw(st.sampled_from(["remove", "rename", "replace", "replace"]))
    if not path:
        return
    if kind == "replace":
        holder[path[-1]] = data.draw(VALUES)
    elif kind == "remove" or isinstance(holder, list):
        holder.pop(path[-1])
    else:
        holder[data.draw(st.text(max_size=6))] = holder.pop(path[-1])


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
FULL = with_criteria(
    nl_assertions=["The agent is kind."],
) | {
    "initial_state": {
        "initialization_data": {"agent_data": {"orders": {"#W2": {"status": "pending"}}}},
        "initialization_actions": [
            {"env_type": "assistant", "func_name": "think", "arguments": {"thought": "x"}}
        ],
        "message_history": None,
    },
    "user_tools": None,
    "ticket": None,
}


@pytest.mark.slow
@settings(
    max_examples=300 if thorough() else 40,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_a_changed_task_is_read_and_gradable_or_refused_by_name(tmp_path, data) -> None:
    """Fields are taken out, renamed or get any JSON value, in tasks and in the database."""
    files = json.loads(json.dumps({"tasks.json": [FULL, tau2_task("b")], "db.json": SHOP}))
    for _ in range(data.draw(st.integers(1, 3))):
        change(files[data.draw(st.sampled_from(["tasks.json", "tasks.json", "db.json"]))], data)
    folder = tmp_path / "data" / "tau2" / "domains" / "retail"
    if not folder.exists():
        tau2_folder(tmp_path)
    for name, value in files.items():
        (folder / name).write_text(json.dumps(value))
    tasks, refusal = tasks_or_refusal(tmp_path)
    if not tasks:
        assert str(folder) in refusal
        assert "task" in refusal or "db.json" in refusal
    for task in tasks:
        assert task.expected().equals(task.expected())


@pytest.mark.slow
@pytest.mark.parametrize("env_id", ["tau:Retail", "tau:Airline", "tau:Telecom", "tau:Mock"])
def test_the_sample_folders_keep_the_contract(env_id) -> None:
    check_env(env_id).raise_for_findings()

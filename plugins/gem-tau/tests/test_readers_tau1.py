"""The reader of tau-bench 1: modules are parsed and never executed."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from selection import thorough
from tau_folders import FIND, MODULE, play, tasks_or_refusal, tau1_folder

import gem_core
from gem_core.agent import ScriptedAgent
from gem_core.errors import ConfigError, DataError
from gem_tau.env import make_dialogue
from gem_tau.oracle import DialogueOracle
from gem_tau.readers import airline, retail
from gem_tau.task import Call, Mention


def module(elements: str, before: str = "") -> str:
    return f"{before}\nTASKS = [{elements}]\n"


def test_without_data_the_error_says_where_to_get_it() -> None:
    for read in (retail, airline):
        with pytest.raises(ConfigError, match=r"git clone https://github.com/sierra-research/"):
            read()


def test_a_module_of_calls_becomes_tasks(tmp_path) -> None:
    tau1_folder(tmp_path)
    first, second = retail(tmp_path).tasks
    assert first.id == "retail-test-0"
    assert first.actions == (
        Call("find_user_id_by_name_zip", FIND),
        Call("cancel_pending_order", {"order_id": "#W1", "reason": "no longer needed"}),
    )
    assert first.communicate == (Mention("25.5"),)
    assert first.reward_basis == ("db", "communicate")
    assert first.domain.policy == "Only cancel pending orders."
    assert second.actions == ()


def test_the_folder_of_the_domain_is_read_like_the_checkout(tmp_path) -> None:
    folder = tau1_folder(tmp_path)
    assert [one.id for one in retail(folder).tasks] == [one.id for one in retail(tmp_path).tasks]
    assert len(retail(tmp_path / "tau_bench" / "envs").tasks) == 2


def test_a_module_of_dicts_is_read_where_it_is_the_only_one(tmp_path) -> None:
    text = """
tasks = [
    {
        "annotator": 0,
        "user_id": "nora_berg_1",
        "instruction": "You want to know the price.",
        "actions": [{"name": "get_order_details", "arguments": {"order_id": "#W1"}}],
        "outputs": ["25.5"],
    },
]
"""
    tau1_folder(tmp_path, {"tasks.py": text})
    (task,) = retail(tmp_path).tasks
    assert task.actions == (Call("get_order_details", {"order_id": "#W1"}),)
    assert task.scenario.goals[0].kind == "question"


def test_splits_are_the_modules_and_near_names_are_suggested(tmp_path) -> None:
    train = MODULE.replace("TASKS_TEST", "TASKS_TRAIN")
    tau1_folder(tmp_path, {"tasks_test.py": MODULE, "tasks_train.py": train})
    assert retail(tmp_path, "train").tasks[0].id == "retail-train-0"
    with pytest.raises(ConfigError, match=r"no split 'trian'. Did you mean 'train'\?"):
        retail(tmp_path, "trian")


def test_the_oracle_is_paid_with_the_scripted_user_and_silence_is_not(tmp_path) -> None:
    tau1_folder(tmp_path)
    env = make_dialogue(tasks="retail", data=tmp_path)
    assert play(env, DialogueOracle(), idx=0).reward == 1.0
    assert play(env, DialogueOracle(), idx=1).reward == 1.0
    assert play(env, ScriptedAgent(["Hello."] * 30), idx=0).reward == 0.0


def test_a_reference_respond_is_not_said_by_the_agent(tmp_path) -> None:
    tau1_folder(tmp_path)
    task = retail(tmp_path).tasks[0]
    assert all(call.name != "respond" for call in task.actions)


def test_nothing_in_a_module_is_executed(tmp_path) -> None:
    target = tmp_path / "written"
    tau1_folder(tmp_path, {"tasks_test.py": f"open({str(target)!r}, 'w')\n{MODULE}"})
    with pytest.raises(DataError, match=r"tasks_test.py:1: a module of tasks may import"):
        retail(tmp_path)
    assert not target.exists()


TASK = 'Task(user_id="u", instruction="i", outputs=[], actions=[{}])'


FAULTS = [
    (module("", "for x in y: pass"), "test.py:1: a module of tasks may"),
    (module("", "x = f()"), r"test.py:1: only Task and Action may be called: 'f\(\)'"),
    (module("f'{x}'"), "test.py:2: this is not a literal value"),
    (module("*others"), "test.py:2: this is not a literal value"),
    (module("1"), "test.py:2: task 0: must be an object"),
    (module(""), "test.py:2: the list has no tasks"),
    (module("Task('u')"), "test.py:2: Task takes its fields by name"),
    (module("Task(**x)"), "test.py:2: Task takes its fields by name"),
    (module("{1: 2}"), "test.py:2: a key must be a text"),
    (module("{**x}"), "test.py:2: a key must be a text"),
    (module("Task(user_id='u', instruction='i')"), "task 0: actions: Field required"),
    (module(TASK.format("1")), "task 0: actions.0: must be an object; got 1"),
    (
        module(TASK.format("Action(name='x', kwargs={})")),
        "actions.0.name: 'x' is not a tool",
    ),
    (
        module(TASK.format("Action(name='get_order_detail', kwargs={})")),
        "Did you mean 'get_order_details'",
    ),
    (module(TASK.format("Action(name='think')")), "actions.0: needs its arguments once"),
    (
        module(TASK.format("Action(name='think', kwargs={}, arguments={})")),
        "actions.0: needs its arguments once, as kwargs or as arguments",
    ),
    (
        module(TASK.format("Action(name='think', args={})")),
        "actions.0: 'args' is not a field",
    ),
    (module(TASK.format("").replace("outputs", "output")), "Did you mean 'outputs'"),
    (
        module(TASK.format("").replace('"i"', "1")),
        "instruction: Input should be a valid string; got 1",
    ),
    (
        module(TASK.format("").replace("[],", "[25],")),
        "outputs.0: Input should be a valid string; got 25",
    ),
    ("OTHER = [1]", "must have one list TASKS or TASKS_TEST; found: OTHER"),
    ("TASKS = [", "test.py:1: it is not valid Python"),
    ("\0", "tasks_test.py"),
    ("TASKS = " + "[" * 400 + "]" * 400, "tasks_test.py"),
]


@pytest.mark.slow
def test_what_a_module_may_not_have_is_named_with_file_and_line(tmp_path, subtests) -> None:
    folder = tau1_folder(tmp_path)
    for text, problem in FAULTS:
        with subtests.test(problem):
            (folder / "tasks_test.py").write_text(text)
            with pytest.raises(DataError, match=problem):
                retail(tmp_path)


@pytest.mark.slow
@settings(
    max_examples=150 if thorough() else 30,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_a_changed_module_is_read_or_refused_with_its_file(tmp_path, data) -> None:
    """Pieces of the text are taken out, doubled or replaced, so that all kinds of faults occur."""
    text = MODULE
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text) - 1))
        end = data.draw(st.integers(start, min(len(text), start + 12)))
        piece = data.draw(
            st.sampled_from(
                ["", "None", "1", "x", "[", "]", "{}", '"', ",", "Action", text[start:end] * 2]
            )
        )
        text = text[:start] + piece + text[end:]
    folder = tmp_path / "tau_bench" / "envs" / "retail"
    if not folder.exists():
        tau1_folder(tmp_path)
    (folder / "tasks_test.py").write_text(text)
    tasks, refusal = tasks_or_refusal(tmp_path)
    assert tasks or str(folder / "tasks_test.py") in refusal
    for task in tasks:
        assert task.expected().equals(task.expected())


def test_a_table_that_is_missing_or_unknown_is_named(tmp_path) -> None:
    folder = tau1_folder(tmp_path)
    (folder / "data" / "flights.json").write_text("{}")
    with pytest.raises(DataError, match="has the table 'flights', which the domain retail"):
        retail(tmp_path)
    (folder / "data" / "flights.json").unlink()
    (folder / "data" / "orders.json").unlink()
    with pytest.raises(DataError, match="lacks the table 'orders' of the domain retail"):
        retail(tmp_path)


def test_a_record_that_a_reference_call_cannot_use_is_found_when_the_folder_is_read(
    tmp_path,
) -> None:
    folder = tau1_folder(tmp_path)
    (folder / "data" / "orders.json").write_text('{"#W1": {"status": "pending"}}')
    with pytest.raises(DataError, match=r"task 0: actions\.1: cancel_pending_order cannot be"):
        retail(tmp_path)


def test_a_folder_without_tasks_says_where_they_were_sought(tmp_path) -> None:
    with pytest.raises(DataError, match=r"neither tasks.json \(tau2-bench\) nor tasks_test.py"):
        retail(tmp_path)
    with pytest.raises(DataError, match="does not exist"):
        retail(tmp_path / "nothing")


def test_the_registered_id_reads_a_folder(tmp_path) -> None:
    tau1_folder(tmp_path)
    with gem_core.make("tau:Retail", data=str(tmp_path)) as env:
        observation, info = env.reset(seed=0, idx=0)
        assert observation.startswith("My name is Nora Berg")
        assert info["task_id"] == "retail-test-0"

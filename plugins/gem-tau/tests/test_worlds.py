"""Tool worlds: their code runs only when trusted, calls that fail change nothing, gold is paid."""

import datetime as dt
import json
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from selection import thorough
from tau_folders import play
from tau_worlds import COUNTER, VERIFY, random_world, world_folder

import gem_core
from gem_core.agent import ScriptedAgent
from gem_core.errors import ConfigError, DataError, EpisodeEndedError, GemError
from gem_core.testing import check_env
from gem_tau import world_folder as folders
from gem_tau.world_clock import NOW
from gem_tau.worlds import ToolWorldEnv, WorldOracle


def call(name, /, **arguments) -> str:
    return json.dumps({"name": name, "arguments": arguments})


def counter(tmp_path, **parts):
    kwargs = {key: parts.pop(key) for key in ("max_turns", "max_errors") if key in parts}
    return ToolWorldEnv(data=world_folder(tmp_path / "world", **parts), trust=True, **kwargs)


@pytest.mark.slow
def test_the_samples_keep_the_contract() -> None:
    report = check_env("tools:Folder")
    report.raise_for_findings()


def test_without_trust_no_code_of_the_folder_runs(tmp_path) -> None:
    target = tmp_path / "written"
    data = world_folder(tmp_path / "world", tools=f"open({str(target)!r}, 'w')\n{COUNTER}")
    for trust in (False, "yes", 1):
        with pytest.raises(ConfigError, match=r"tools.py, Python code .* pass trust=True"):
            ToolWorldEnv(data=data, trust=trust)
    assert not target.exists()


def test_without_data_the_error_says_where_to_get_it() -> None:
    with pytest.raises(ConfigError, match=r"needs data=.*git clone https://github.com/"):
        gem_core.make("tools:Folder", trust=True)


def test_the_instruction_is_the_first_observation_and_the_tools_are_explained(tmp_path) -> None:
    env = counter(tmp_path)
    observation, info = env.reset(seed=0)
    assert observation == "Make the count a 3."
    assert info["task_id"] == "world"
    assert '"name": "add"' in info["prefix"]
    schemas = ToolWorldEnv(data=tmp_path / "world", trust=True, instructions="schemas")
    names = [one["function"]["name"] for one in schemas.reset(seed=0)[1]["tool_schemas"]]
    assert names == ["show", "add"]


def test_the_oracle_is_paid_and_an_agent_that_does_nothing_is_not(tmp_path) -> None:
    env = counter(tmp_path)
    last = play(env, WorldOracle())
    assert (last.reward, last.terminated) == (1.0, True)
    assert last.info["rewards"] == {"verify": 1.0, "db": 1.0}
    diff = {(one["table"], one["path"]): one["after"] for one in last.info["db_diff"]}
    assert diff == {("counts", "a"): 3, ("log", "0"): "a"}
    assert play(env, ScriptedAgent(["I am done."])).reward == 0.0


def test_another_way_to_what_verify_asks_for_is_paid_too(tmp_path) -> None:
    add = call("add", name="a")
    last = play(counter(tmp_path), ScriptedAgent([add, add, "done"]))
    assert last.info["rewards"] == {"verify": 1.0, "db": 0.0}
    assert last.reward == 1.0


def test_without_verify_the_database_must_equal_that_of_the_solution(tmp_path) -> None:
    env = counter(tmp_path, tools=COUNTER)
    add = call("add", name="a")
    assert play(env, WorldOracle()).reward == 1.0
    assert play(env, ScriptedAgent([add, add, "done"])).reward == 0.0


def test_what_verify_refuses_is_paid_where_it_equals_the_solution(tmp_path) -> None:
    env = counter(tmp_path, tools=COUNTER + VERIFY.replace("== 3", "== 4"))
    last = play(env, WorldOracle())
    assert last.info["rewards"] == {"verify": 0.0, "db": 1.0}
    assert last.reward == 1.0


def test_a_call_that_fails_in_the_middle_changes_nothing(tmp_path) -> None:
    env = counter(tmp_path)
    env.reset(seed=0)
    step = env.step(call("add", name="b", amount=8))
    assert step.observation == "Error: The count is full."
    assert env.step(call("add", name="c")).observation.startswith("Error: KeyError")
    assert json.loads(env.step(call("show")).observation) == {"a": 1, "b": 2}
    assert env.step("done").info["db_diff"] == []


@pytest.mark.parametrize(
    ("action", "problem"),
    [
        (call("ad", name="a"), "There is no function 'ad'. Did you mean 'add'?"),
        (call("add"), "'name' is a required property"),
        (call("add", name="a", by=2), "by"),
        ('{"name": "add", "arguments": ', "The call is not valid JSON"),
    ],
)
def test_a_wrong_call_gets_an_error_and_the_episode_goes_on(tmp_path, action, problem) -> None:
    env = counter(tmp_path)
    env.reset(seed=0)
    step = env.step(action)
    assert step.observation.startswith("Error: ")
    assert problem in step.observation
    assert not step.terminated


def test_limits_truncate_and_pay_nothing(tmp_path) -> None:
    env = counter(tmp_path, max_turns=3, max_errors=2)
    last = play(env, ScriptedAgent([call("add", name="a")] * 5))
    assert (last.truncated, last.reward, last.info["truncated_by"]) == (True, 0.0, "max_turns")
    last = play(env, ScriptedAgent([call("no")] * 5))
    assert (last.truncated, last.reward, last.info["truncated_by"]) == (True, 0.0, "max_errors")


def test_a_database_without_types_is_the_json_value(tmp_path) -> None:
    tools = COUNTER.replace("class TaskDB", "class Unused").replace(
        "self.db.counts", "self.db['counts']"
    )
    tools = tools.replace("db: TaskDB", "").replace("self.db.log.append(name)", "")
    env = counter(tmp_path, tools=tools)
    assert play(env, WorldOracle()).reward == 1.0
    env.reset(seed=0)
    assert env.step(call("add", name="b", amount=8)).observation == "Error: The count is full."
    assert json.loads(env.step(call("show")).observation) == {"a": 1, "b": 2}


def test_calls_may_be_written_as_objects(tmp_path) -> None:
    gold = [{"name": "add", "arguments": {"name": "a", "amount": 2}}]
    assert play(counter(tmp_path, gold=gold), WorldOracle()).reward == 1.0


def test_verify_may_be_a_file_of_its_own(tmp_path) -> None:
    folder = world_folder(tmp_path / "world", tools=COUNTER)
    (folder / "verify.py").write_text("def verify(db):\n    return 0.5 * (db.counts['a'] > 1)\n")
    env = ToolWorldEnv(data=folder, trust=True)
    last = play(env, ScriptedAgent([call("add", name="a"), "done"]))
    assert last.reward == 0.5


DATED = """
import datetime as clock
from datetime import date, datetime

from general_agent.tools import DB, Tools, tool


class TaskDB(DB):
    start: date
    log: list[str] = []


class TaskTools(Tools):
    db: TaskDB

    @tool
    def note(self) -> str:
        import datetime

        self.db.log.append(datetime.datetime.now().isoformat())
        self.db.log.append(str((clock.date.today() - self.db.start).days))
        return str(date.today() == datetime.date(*datetime.datetime.utcnow().timetuple()[:3]))
"""


def test_the_clock_of_a_world_stands_still(tmp_path) -> None:
    """A tool may import the time in any way; the real module is untouched."""
    world_folder(tmp_path / "world", tools=DATED, gold=[["note", {}]], db={"start": "2026-05-31"})
    env = ToolWorldEnv(data=tmp_path / "world", trust=True)
    env.reset(seed=0)
    assert env.step(call("note")).observation == "True"
    assert env.state.content["log"] == [NOW.isoformat(), "1"]
    assert env.step("done").reward == 1.0
    assert type(dt.datetime.now()) is dt.datetime  # noqa: DTZ005 - the real clock


OPTIONAL = """
from general_agent.tools import DB, Tools, tool


class TaskDB(DB):
    chosen: str | None = None


class TaskTools(Tools):
    db: TaskDB

    @tool
    def choose(self, name: str) -> str:
        self.db.chosen = name
        return name
"""


def test_a_field_without_a_value_can_be_filled(tmp_path) -> None:
    gold = [["choose", {"name": "a"}]]
    world_folder(tmp_path / "world", tools=OPTIONAL, gold=gold, db={"chosen": None})
    last = play(ToolWorldEnv(data=tmp_path / "world", trust=True), WorldOracle())
    assert last.reward == 1.0
    assert [(one["table"], one["after"]) for one in last.info["db_diff"]] == [("chosen", "a")]


def test_grading_leaves_the_database_as_it_is(tmp_path) -> None:
    tools = COUNTER + "\n\ndef verify(db):\n    db.counts.clear()\n    return 0.0\n"
    env = counter(tmp_path, tools=tools)
    env.reset(seed=0)
    assert env.state.grade() == env.state.grade() == {"verify": 0.0, "db": 0.0}
    assert json.loads(env.step(call("show")).observation) == {"a": 1, "b": 2}


def test_copies_at_every_turn_play_on_equally(tmp_path) -> None:
    env = counter(tmp_path)
    env.reset(seed=0)
    actions = [call("add", name="a"), call("add", name="b", amount=9), call("add", name="a"), "end"]
    for turn in range(len(actions)):
        twin, restored = env.fork(), env.spawn()
        restored.restore(env.snapshot())
        rest = [[one.step(action) for action in actions[turn:]] for one in (twin, restored)]
        assert rest[0] == rest[1]
        assert rest[0][-1].reward == 1.0
        env.step(actions[turn])


@pytest.mark.parametrize(
    "line",
    [
        "import heapq; heapq.heappush(self.db.log, name)",
        "self.db.__dict__['log'] = [*self.db.log, name]",
        "vars(self.db).update(log=[*self.db.log, name])",
        "object.__setattr__(self.db, 'log', [*self.db.log, name])",
        "list.append(self.db.log, name)",
    ],
)
def test_what_changes_the_database_past_its_methods_stays_in_the_episode(tmp_path, line) -> None:
    env = counter(tmp_path, tools=(COUNTER + VERIFY).replace("self.db.log.append(name)", line))
    add = call("add", name="a")
    for _ in range(2):
        env.reset(seed=0)
        env.step(add)
        restored = env.spawn()
        restored.restore(env.snapshot())
        for episode in (env.fork(), restored, env):
            episode.step(add)
            last = episode.step("end")
            diff = {(one["table"], one["path"]): one["after"] for one in last.info["db_diff"]}
            assert diff == {("counts", "a"): 3, ("log", "0"): "a", ("log", "1"): "a"}
            assert last.reward == 1.0


def test_a_snapshot_restores_where_the_world_was_never_loaded(tmp_path) -> None:
    env = counter(tmp_path)
    env.reset(seed=0)
    env.step(call("add", name="a", amount=2))
    snapshot = env.snapshot()
    folders._load.cache_clear()
    twin = ToolWorldEnv(data=tmp_path / "world", trust=True)
    twin.restore(snapshot)
    assert twin.step("done").reward == 1.0


def test_the_modules_of_worlds_do_not_stay_importable(tmp_path) -> None:
    play(counter(tmp_path), WorldOracle())
    assert "general_agent" not in sys.modules
    assert not [name for name in sys.modules if name.startswith("gem_tau_world_")]


def test_a_folder_of_worlds_is_played_in_an_order_without_repeats(tmp_path) -> None:
    for name in "abc":
        world_folder(tmp_path / name)
    (tmp_path / "notes.txt").write_text("not a world")
    env = ToolWorldEnv(data=tmp_path, trust=True)
    options = [env.reset_options(number, seed=5)["idx"] for number in range(6)]
    assert sorted(options[:3]) == sorted(options[3:]) == [0, 1, 2]
    assert env.reset(seed=0, idx=2)[1]["task_id"] == "c"
    with pytest.raises(ConfigError, match="idx must be from 0 to 2; got 3"):
        env.reset(idx=3)


def test_a_changed_file_is_read_anew(tmp_path) -> None:
    env = counter(tmp_path)
    env.reset(seed=0)
    (tmp_path / "world" / "instruction.md").write_text("Something else.")
    assert env.reset(seed=0)[0] == "Something else."


def test_before_the_first_reset_there_is_no_world(tmp_path) -> None:
    with pytest.raises(EpisodeEndedError):
        counter(tmp_path).world  # noqa: B018


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ({"gold": [["sub", {}]]}, "gold.json: call 0: name: 'sub' is not a tool"),
        ({"gold": [["add", {"name": "z"}]]}, "gold.json: call 0 fails: Error: KeyError"),
        ({"gold": [["add"]]}, "gold.json: call 0: must be an object"),
        (
            {"gold": [["add", 3]]},
            "gold.json: call 0: arguments: Input should be a valid dictionary; got 3",
        ),
        ({"gold": {"a": 1}}, "gold.json must be a list of calls; got a dict"),
        ({"tools": "x = "}, "tools.py cannot be run: SyntaxError"),
        ({"tools": "import does_not_exist"}, "tools.py cannot be run: ModuleNotFoundError"),
        ({"tools": "x = 1"}, "tools.py has no class TaskTools"),
        ({"tools": "class TaskTools: pass"}, "TaskTools has no method marked @tool"),
        ({"tools": COUNTER.replace("name: str", "name")}, "parameter 'name' has no annotation"),
        ({"db": {"counts": {"a": "x"}}}, "the database does not fit TaskDB"),
        ({"db": {"counts": 5}}, "the database does not fit TaskDB"),
    ],
)
def test_a_folder_that_cannot_be_used_is_named_with_its_file(tmp_path, parts, problem) -> None:
    with pytest.raises(DataError, match=problem):
        counter(tmp_path, **parts).reset(seed=0)


@pytest.mark.parametrize("value", ["2.0", "-1.0", "float('nan')", "'x'", "db.nothing"])
def test_a_broken_verify_is_a_fault_and_no_reward(tmp_path, value) -> None:
    env = counter(tmp_path, tools=f"{COUNTER}\n\ndef verify(db):\n    return {value}\n")
    env.reset(seed=0)
    with pytest.raises(DataError, match="verify"):
        env.step("done")


def test_a_world_that_nothing_grades_is_refused(tmp_path) -> None:
    env = counter(tmp_path, tools=COUNTER)
    (tmp_path / "world" / "gold.json").unlink()
    with pytest.raises(DataError, match=r"neither gold.json nor verify"):
        env.reset(seed=0)


def test_a_missing_folder_and_one_without_worlds_are_named(tmp_path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        ToolWorldEnv(data=tmp_path / "nothing", trust=True)
    with pytest.raises(DataError, match="has no worlds"):
        ToolWorldEnv(data=tmp_path, trust=True)


@pytest.mark.slow
@settings(
    max_examples=120 if thorough() else 15,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(seed=st.integers(0, 2**32))
def test_random_worlds_pay_their_solution_and_not_silence(tmp_path, seed) -> None:
    folder = tmp_path / str(seed)
    env = ToolWorldEnv(data=folder if folder.exists() else random_world(folder, seed), trust=True)
    assert play(env, WorldOracle()).reward == 1.0
    assert play(env, ScriptedAgent(["done"])).reward == 0.0


@pytest.mark.slow
@settings(
    max_examples=60 if thorough() else 15,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    name=st.sampled_from(["db.json", "gold.json", "tools.py", "instruction.md"]),
    start=st.floats(0, 1),
    piece=st.sampled_from(["", "[", "]", "{", '"', "1", "null", ":", "self", "\n"]),
    length=st.integers(0, 10),
)
def test_a_damaged_folder_plays_or_is_refused(tmp_path, name, start, piece, length) -> None:
    folder = tmp_path / "world"
    if not folder.exists():
        random_world(folder, 5)
    text = (folder / name).read_text()
    at = int(start * len(text))
    (folder / name).write_text(text[:at] + piece + text[at + length :])
    try:
        play(ToolWorldEnv(data=folder, trust=True), WorldOracle())
    except GemError as error:
        assert str(folder) in str(error)  # noqa: PT017 - it may also play
    finally:
        (folder / name).write_text(text)


SETS = """
from general_agent.tools import DB, Tools, tool

BASIC = {"name": "basic", "uses": 0}


class TaskDB(DB):
    chosen: set[int] = set()
    plans: list[dict] = []


class TaskTools(Tools):
    db: TaskDB

    @tool
    def choose(self, number: int) -> int:
        self.db.chosen.add(number)
        return number

    @tool
    def subscribe(self) -> int:
        if not self.db.plans:
            self.db.plans.append(BASIC)
        else:
            self.db.plans[0]["uses"] += 1
        return self.db.plans[0]["uses"]

    @tool
    def lose(self) -> str:
        self.db.plans.append({"name": lambda: 0})
        return "done"
"""


def sets_world(tmp_path, gold) -> ToolWorldEnv:
    world_folder(tmp_path / "world", tools=SETS, gold=gold, db={})
    return ToolWorldEnv(data=tmp_path / "world", trust=True)


def test_a_set_equals_another_that_was_filled_in_another_order(tmp_path) -> None:
    orders = ([0, 8], [8, 0])  # which a set of eight places keeps apart
    gold = [["choose", {"number": number}] for number in orders[0]]
    env = sets_world(tmp_path, gold)
    for order in orders:
        actions = [call("choose", number=number) for number in order]
        assert play(env, ScriptedAgent([*actions, "done"])).reward == 1.0


def test_what_a_tool_stores_of_its_module_is_not_shared_by_episodes(tmp_path) -> None:
    env = sets_world(tmp_path, [["subscribe", {}], ["subscribe", {}]])
    for _ in range(2):
        env.reset(seed=0)
        env.step(call("subscribe"))
        for episode in (env.fork(), env):
            assert "1" in episode.step(call("subscribe")).observation
            assert episode.step("done").reward == 1.0


def test_a_call_that_leaves_what_cannot_be_kept_fails_and_changes_nothing(tmp_path) -> None:
    env = sets_world(tmp_path, [["choose", {"number": 3}]])
    env.reset(seed=0)
    assert "Error" in env.step(call("lose")).observation
    env.step(call("choose", number=3))
    assert env.step("done").reward == 1.0

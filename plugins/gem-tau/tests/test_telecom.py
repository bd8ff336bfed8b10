"""A mobile operator, whose customers have phones: both sides' tools, and dialogues with both."""

import json
import shutil
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough
from tau_folders import play

from gem_core.agent import ScriptedAgent
from gem_core.errors import DataError
from gem_rollout import as_single, play_episode
from gem_tau.domains.telecom.phone import PhoneTools
from gem_tau.env import DialogueEnv, make_dialogue
from gem_tau.floors import free_tasks
from gem_tau.oracle import DialogueOracle, written
from gem_tau.readers import mock, telecom
from gem_tau.sources import ListedTasks
from gem_tau.task import Call

SAMPLES = Path(str(files("gem_tau"))) / "folder_samples"
TASKS = {task.id: task for task in telecom(SAMPLES).tasks}
MOCK = {task.id: task for task in mock(SAMPLES).tasks}
LINE = {"customer_id": "C1", "line_id": "L1"}
SWITCHES = {
    "toggle_airplane_mode": "airplane_mode",
    "toggle_data": "data_enabled",
    "toggle_roaming": "roaming_enabled",
    "toggle_data_saver_mode": "data_saver_mode",
    "toggle_wifi_calling": "wifi_calling_enabled",
}


class World:
    """The database of a task, and calls of both sides that must succeed."""

    def __init__(self, task_id):
        self.task = TASKS[task_id]
        self.db = self.task.fresh()

    def user(self, name, **arguments):
        return self._call(Call(name, arguments, side="user"))

    def operator(self, name, **arguments):
        return self._call(Call(name, arguments))

    def _call(self, call):
        result = self.task.make(call, self.db)
        assert result.ok, result.output
        return result.output

    @property
    def device(self):
        return self.db.get("user", "device")


def test_the_oracle_is_paid_in_the_samples_and_who_does_nothing_is_not() -> None:
    for task in [*TASKS.values(), *MOCK.values()]:
        step = play(make_dialogue(tasks=ListedTasks([task])), DialogueOracle())
        assert (task.id, step.reward, step.info["reward_details"]) == (task.id, 1.0, {})
    assert free_tasks([*TASKS.values(), *MOCK.values()]) == {}


def test_a_phone_has_service_after_payment_resumption_and_restart() -> None:
    world = World("suspended")
    assert "No Signal" in world.user("check_status_bar")
    assert world.user("make_payment") == "There is no payment request."
    world.operator("send_payment_request", customer_id="C1", bill_id="B2")
    assert "$22.0 for the bill B2" in world.user("check_payment_request")
    world.user("make_payment")
    assert json.loads(world.operator("get_details_by_id", id="B2"))["status"] == "Paid"
    world.operator("resume_line", **LINE)
    assert "No Signal" in world.user("check_status_bar")
    assert "Excellent signal | 5G" in world.user("reboot_device")


def test_data_abroad_need_roaming_on_the_line_and_on_the_phone() -> None:
    world = World("abroad")
    world.user("toggle_roaming")
    assert "no connection" in world.user("run_speed_test")
    world.operator("enable_roaming", **LINE)
    assert world.user("run_speed_test") == "The speed is 275.00 Mbps: Excellent."
    world.user("toggle_roaming")
    assert "no connection" in world.user("run_speed_test")


def test_data_are_added_at_the_price_of_the_plan_on_the_next_bill() -> None:
    world = World("used-up")
    added = json.loads(world.operator("refuel_data", **LINE, gb_amount=2))
    assert added == {"data_refueling_gb": 2.0, "charge": 7.0}
    bill = json.loads(world.operator("get_details_by_id", id="B1"))
    assert (bill["total_due"], bill["line_items"][0]["amount"]) == (7.0, 7.0)
    assert bill["issue_date"] == "2025-03-01"
    assert "Very Poor" not in world.user("run_speed_test")


def test_a_vpn_and_data_saver_mode_make_data_slow() -> None:
    world = World("used-up")
    world.operator("refuel_data", **LINE, gb_amount=1)
    assert "4.40 Mbps: Poor" in world.user("run_speed_test")
    world.user("toggle_data_saver_mode")
    assert "22.00 Mbps: Fair" in world.user("run_speed_test")
    world.user("disconnect_vpn")
    assert "Excellent" in world.user("run_speed_test")


def test_pictures_need_the_permission_and_the_settings_after_a_restart() -> None:
    world = World("pictures")
    world.user("grant_app_permission", app_name="messaging", permission="Storage")
    world.user("reset_apn_settings")
    assert "cannot send" in world.user("can_send_mms")
    world.user("reboot_device")
    assert "can send" in world.user("can_send_mms")
    world.user("set_network_mode_preference", mode="2g_only")
    assert "cannot send" in world.user("can_send_mms")


def test_a_refused_call_changes_nothing() -> None:
    world = World("abroad")
    for call in (
        Call("resume_line", LINE),
        Call("refuel_data", {**LINE, "gb_amount": 0}),
        Call("enable_roaming", {"customer_id": "C1", "line_id": "L9"}),
        Call("send_payment_request", {"customer_id": "C1", "bill_id": "B9"}),
        Call("grant_app_permission", {"app_name": "chess", "permission": "sms"}, side="user"),
        Call("set_apn_settings", {"apn_settings": {"apn": "x"}}, side="user"),
        Call("transfer_to_human_agents", {"summary": "x"}, side="user"),
    ):
        before = world.db.digest
        assert not world.task.make(call, world.db).ok
        assert world.db.digest == before


CALLS = st.one_of(
    st.sampled_from([*SWITCHES, "reseat_sim_card", "reboot_device", "reset_apn_settings"]),
    st.sampled_from(["connect_vpn", "disconnect_vpn", "toggle_wifi", "unseat_sim_card"]),
    st.sampled_from(["lock_sim_card", "break_apn_settings", "break_vpn", "break_apn_mms_setting"]),
)


@given(calls=st.lists(CALLS, max_size=8))
@settings(max_examples=100 if thorough() else 15, deadline=None)
def test_a_phone_is_connected_exactly_if_nothing_prevents_it(calls) -> None:
    world = World("abroad")
    phone = PhoneTools(world.db)
    for name in calls:
        assert phone.set_up(name, {"mode": "pin"} if name == "lock_sim_card" else {}).ok
    phone.set_up("simulate_network_search", {})
    device = world.device
    prevented = (
        device["airplane_mode"]
        or device["sim_card_missing"]
        or device["sim_card_status"] != "active"
        or device["active_apn_settings"]["apn_name"] == "broken"
    )
    connected = device["network_connection_status"] == "connected"
    assert connected is not prevented
    assert ("No Signal" in phone.check_status_bar()) is (prevented and not device["airplane_mode"])
    for name, setting in SWITCHES.items():
        before = device[setting]
        world.user(name)
        assert world.device[setting] is not before
        world.user(name)
        assert world.device[setting] is before


ASKED = [
    ("Please use toggle_airplane_mode() now.", ["toggle_airplane_mode"]),
    ("Could you turn off Airplane Mode?", ["toggle_airplane_mode"]),
    ("Is airplane mode on?", ["check_network_status"]),
    ("Please turn your mobile data on.", ["toggle_data"]),
    ("Please enable data roaming on your phone.", ["toggle_roaming"]),
    (
        "Please re-seat your SIM card, then restart your phone.",
        ["reseat_sim_card", "reboot_device"],
    ),
    ("Reset the APN settings and reboot.", ["reset_apn_settings", "reboot_device"]),
    ("Please run a speed test.", ["run_speed_test"]),
    ("What does the status bar show?", ["check_status_bar"]),
    ("Please disconnect your VPN.", ["disconnect_vpn"]),
    ("Are you using a VPN?", ["check_vpn_status"]),
    ("Are you connected to a VPN? If so, please disconnect it.", ["disconnect_vpn"]),
    ("Is airplane mode on? If so, please turn it off.", ["toggle_airplane_mode"]),
    ("Could you check the status of your SIM card?", ["check_sim_status"]),
    ("Turn off Wi-Fi Calling, please.", ["toggle_wifi_calling"]),
    ("Please make the payment now.", ["make_payment"]),
    ("Can you send a picture message now?", ["can_send_mms"]),
    ("I will enable roaming on your line. Do you confirm?", []),
    ("Shall I enable roaming for you?", []),
    ("Do not restart your phone yet.", []),
    ("I have enabled roaming on your line.", []),
    ("This is what I am going to do:\n- enable_roaming: {}\nDo you confirm? (yes/no)", []),
    ("What is your phone number?", []),
]


@pytest.mark.parametrize(("message", "tools"), ASKED)
def test_a_customer_does_what_a_message_asks_for(message, tools) -> None:
    assert [errand.name for errand in PhoneTools.errands_in(message)] == tools


def test_arguments_are_read_from_a_message() -> None:
    named = 'Use `grant_app_permission(app_name="messaging", permission="sms")`.'
    spoken = "Please grant the messaging app the storage permission."
    (first,), (second,) = PhoneTools.errands_in(named), PhoneTools.errands_in(spoken)
    assert first.arguments == {"app_name": "messaging", "permission": "sms"}
    assert second.arguments == {"app_name": "messaging", "permission": "storage"}
    (third,) = PhoneTools.errands_in("Please set your preferred network mode to 4G/5G.")
    assert third.arguments == {"mode": "4g_5g_preferred"}


def talk(task_id, *messages):
    """Return what the user answers to messages of the assistant, and the last info."""
    env = make_dialogue(tasks=ListedTasks([TASKS[task_id]]), max_turns=len(messages))
    env.reset(seed=0)
    heard = []
    for message in messages:
        step = env.step(message)
        heard.append(step.observation)
    return heard, step.info


def test_the_customer_looks_before_using_a_switch_and_tells_what_it_shows() -> None:
    ask = "Please turn off airplane mode."
    heard, info = talk("no-signal", ask, ask)
    assert heard[0].startswith("Airplane Mode is now OFF.")
    assert "Airplane Mode: OFF" in heard[1]
    made = ["check_network_status()", "toggle_airplane_mode()", "check_network_status()"]
    assert info["user_calls"] == made


def test_the_customer_goes_on_until_it_works() -> None:
    heard, info = talk("abroad", "This has been done. Is there anything else?")
    assert "no connection" in heard[0]
    assert info["user_calls"] == ["run_speed_test()"]


PLAIN = [
    (
        "no-signal",
        ["Please take out your SIM card and insert it again.", "Please turn airplane mode off."],
    ),
    (
        "pictures",
        [
            "Please allow your messaging app the permissions sms and storage.",
            "Please reset the APN settings, then restart your phone.",
        ],
    ),
    (
        "abroad",
        [
            "Shall I enable roaming on your line?",
            written(Call("enable_roaming", LINE)),
            "I have enabled roaming on your line. Please turn on data roaming on your phone, too.",
        ],
    ),
]


@pytest.mark.parametrize(("task_id", "messages"), PLAIN)
def test_an_assistant_that_asks_in_plain_words_is_paid(task_id, messages) -> None:
    env = make_dialogue(tasks=ListedTasks([TASKS[task_id]]))
    step = play(env, ScriptedAgent([*messages, "Is there anything else I can do for you?"]))
    assert (step.reward, step.info["ended_by"]) == (1.0, "user: stop")


def test_the_assistant_cannot_use_the_phone() -> None:
    env = make_dialogue(tasks=ListedTasks([TASKS["abroad"]]))
    env.reset(seed=0)
    step = env.step(written(Call("toggle_roaming")))
    assert "There is no" in step.observation or "not" in step.observation
    assert not step.info["tool_calls"][0]["ok"]


def test_the_seat_of_the_user_has_the_phone() -> None:
    env = make_dialogue(tasks=ListedTasks([TASKS["no-signal"]]), seat="user")
    _, info = env.reset(seed=0)
    assert '"toggle_airplane_mode"' in info["prefix"]
    step = env.step(written(Call("check_sim_status")))
    assert step.observation == "The SIM card is missing."
    assert env.step("My phone has no signal.").observation.startswith("Could you please tell me")


def test_a_user_who_only_makes_calls_gives_up() -> None:
    env = DialogueEnv(tasks=ListedTasks([TASKS["no-signal"]]), max_turns=3)
    user = ScriptedAgent([written(Call("check_sim_status"))])
    view = as_single(env, "assistant", others={"user": user})
    env.user = {"id": "loop"}
    trajectory = play_episode(view, ScriptedAgent(["Hm."]), seed=0)
    assert "made 4 calls without a message" in trajectory.error["message"]


def test_a_conversation_that_has_begun_goes_on() -> None:
    env = make_dialogue(tasks=ListedTasks([MOCK["go-on"]]))
    _, info = env.reset(seed=0)
    assert (
        "user: Please make a task for me: Sow the beans.\nassistant: I have made it"
        in info["prefix"]
    )
    step = env.step(written(Call("update_task_status", {"task_id": "task_2", "status": "pending"})))
    assert step.info["tool_calls"][0]["ok"]


def test_an_unknown_field_of_an_earlier_message_is_named(tmp_path) -> None:
    folder = shutil.copytree(SAMPLES / "mock", tmp_path / "mock")
    tasks = json.loads((folder / "tasks.json").read_text())
    tasks[2]["initial_state"]["message_history"][0]["mood"] = "calm"
    (folder / "tasks.json").write_text(json.dumps(tasks))
    with pytest.raises(DataError, match=r"message_history.0: 'mood' is not a field"):
        mock(folder)


def test_handing_over_is_a_free_reward_where_it_is_the_reference() -> None:

    call = Call("transfer_to_human_agents", {"summary": "x"}, compare=())
    task = replace(
        TASKS["no-signal"], actions=(call,), env_assertions=(), reward_basis=("actions",)
    )
    assert free_tasks([task]) == {"no-signal": ("transfer",)}


BROKEN = [
    ("db.toml", "plans = 1", "db.toml lacks the table 'bills'"),
    ("db.toml", "[", "db.toml is not valid TOML"),
    ("user_db.toml", "[phone]", "has 'phone', and may have: device, surroundings"),
]


@pytest.mark.parametrize(("name", "text", "problem"), BROKEN)
def test_a_broken_file_is_named(tmp_path, name, text, problem) -> None:
    folder = shutil.copytree(SAMPLES / "telecom", tmp_path / "telecom")
    (folder / name).write_text(text)
    with pytest.raises(DataError, match=problem):
        telecom(folder)


def changed_task(tmp_path, change):
    """Return the folder of the samples with the first task changed."""
    folder = shutil.copytree(SAMPLES / "telecom", tmp_path / "telecom")
    tasks = json.loads((folder / "tasks.json").read_text())
    change(tasks[0])
    (folder / "tasks.json").write_text(json.dumps(tasks))
    return folder


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("_edit", "the domain has no '_edit'"),
        ("set_up", "the domain has no 'set_up'"),
        ("enable_roaming", "the domain has no 'enable_roaming'"),
    ],
)
def test_a_set_up_calls_only_methods_of_the_domain(tmp_path, name, problem) -> None:
    def change(task):
        actions = task["initial_state"]["initialization_actions"]
        actions.append({"env_type": "user", "func_name": name, "arguments": {}})

    with pytest.raises(DataError, match=problem):
        telecom(changed_task(tmp_path, change))


def test_the_phone_of_a_task_may_differ(tmp_path) -> None:
    def change(task):
        data = {"user_data": {"device": {"battery_level": 3}}}
        task["initial_state"]["initialization_data"] = data

    (task,) = [
        one for one in telecom(changed_task(tmp_path, change)).tasks if one.id == "no-signal"
    ]
    assert "Battery 3%" in task.make(Call("check_status_bar", side="user"), task.fresh()).output

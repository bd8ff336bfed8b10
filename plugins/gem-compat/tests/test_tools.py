"""Tools: those that people write, those of gem-core, and the three that come along."""

import sys

import pytest

import gem
import gem_core
import gem_tasks
from gem.tools.base_tool import AdaptedTool, BaseTool
from gem.tools.mcp_tool import MCPTool, is_timeout_error
from gem.tools.python_code_tool import PythonCodeTool
from gem.tools.search_tool import TIMEOUT, SearchTool
from gem.tools.tool_env_wrapper import ToolEnvWrapper
from gem.wrappers.wrapper_factory import get_wrapper_fns
from gem_core.errors import ConfigError
from gem_core.testing.tool_checks import check_tool

TIME = [sys.executable, "-m", "gem_tools.mcp.time_server", "--transport", "stdio"]
GAME = "game:GuessTheNumber-v0"


class Upper(BaseTool):
    """As people write tools: no name, no constructor of the base."""

    def __init__(self, mark="<upper>"):
        self.mark = mark

    def instruction_string(self):
        return f"Write {self.mark}text to have it in capitals."

    def execute_action(self, action):
        before, found, text = action.partition(self.mark)
        if not found:
            return False, True, "", action
        return True, text == "fail", text.upper(), before + found + text


class Duck:
    """A tool that derives from nothing."""

    tool_type = "duck"

    def instruction_string(self):
        return "Say quack."

    def execute_action(self, action):
        return "quack" in action, False, "QUACK", action


def wrapped(*tools, **options):
    env = ToolEnvWrapper(gem.make(GAME), list(tools), **options)
    env.reset(seed=0)
    return env


def test_instructions_follow_the_observation():
    env = wrapped(Upper())
    observation, info = env.reset(seed=0)
    assert observation == f"{env.unwrapped.reset(seed=0)[0]}\n{Upper().instruction_string()}"
    assert info["suffix"]
    assert {key: value for key, value in info.items() if key != "suffix"} == {
        "tool_use_counter": 0,
        "tool_success_counter": 0,
        "prev_ep_tool_use_counter": 0,
        "prev_ep_tool_success_counter": 0,
        "use_tool": False,
    }
    observation, _ = wrapped(Upper(), Duck()).reset()
    assert "\nAvailable tools:\nWrite <upper>" in observation
    assert observation.endswith("\nSay quack.")


def test_a_call_is_paid_and_costs_no_turn():
    env = wrapped(Upper(), tool_reward=0.25, tool_success_reward=0.5, max_tool_uses=2)
    observation, reward, terminated, truncated, info = env.step("do <upper>this")
    assert (observation, reward, terminated, truncated) == ("THIS", 0.75, False, False)
    assert info == {
        "parsed_action": "do <upper>this",
        "tool_type": "base",
        "use_tool": True,
        "tool_use_counter": 1,
        "tool_success_counter": 1,
    }
    assert env.unwrapped.turn_count == 0
    observation, reward, *_, info = env.step("<upper>fail")
    assert observation.startswith("FAIL\n\n")
    assert (reward, info["tool_use_counter"], info["tool_success_counter"]) == (0.25, 2, 1)
    *_, terminated, _, info = env.step("<upper>again")  # the budget is spent
    assert (terminated, info["use_tool"], info["tool_use_counter"]) == (True, False, 2)
    _, info = env.reset()
    assert (info["prev_ep_tool_use_counter"], info["prev_ep_tool_success_counter"]) == (2, 1)


def test_failures_have_a_reward_of_their_own():
    env = wrapped(Upper(), tool_execute_error_reward=-0.5)
    assert env.step("<upper>fail")[1] == -0.5
    assert env.step("<upper>fine")[1] == 0.0
    with pytest.raises(ConfigError, match="negative"):
        wrapped(Upper(), tool_execute_error_reward=-0.5, tool_reward=0.1)


def test_a_success_counts_before_a_failure_and_a_failure_before_the_game():
    env = wrapped(Upper(), Upper("<mark>"), Duck(), max_tool_uses=None)
    assert env.step("<upper><mark>")[0] == "<MARK>"
    observation, *_, info = env.step("<upper>fail")
    assert (observation, info["tool_type"]) == ("FAIL", "base")
    observation, *_, info = env.step("quack")
    assert (observation, info["tool_type"]) == ("QUACK", "duck")
    assert len({tool.name for tool in env.tools}) == 3


def test_a_tool_may_be_called_before_a_reset():
    env = ToolEnvWrapper(gem.make(GAME), [Upper()])
    assert env.step("<upper>yes")[0] == "YES"


def test_calls_are_logged_if_asked_for(caplog):
    with caplog.at_level("INFO", logger="gem"):
        wrapped(Upper()).step("<upper>yes", verbose=True)
    assert caplog.messages == ["Tool base: YES"]


def test_states_have_the_counters():
    env = wrapped(Upper())
    env.step("<upper>yes")
    state = env.get_state()
    assert (state["tool_use_counter"], state["tool_success_counter"]) == (1, 1)
    env.step("<upper>fail")
    env.step(r"\boxed{1}")
    env.set_state(state)
    assert (env.tool_use_counter, env.unwrapped.turn_count) == (1, 0)
    env.set_state(env.unwrapped.get_state())
    assert env.tool_use_counter == 0
    env.step("<upper>yes")
    twin = env.fork()
    assert twin.step("<upper>yes")[4]["tool_use_counter"] == 2
    assert env.tool_use_counter == 1


def test_what_a_tool_raises_reaches_the_caller():
    class Broken(Upper):
        def execute_action(self, action):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        wrapped(Broken()).step("a")
    for method in ("instruction_string", "execute_action"):
        with pytest.raises(NotImplementedError, match="BaseTool has no"):
            getattr(BaseTool(), method)(*[""] * (method == "execute_action"))


def test_a_base_tool_is_a_tool_of_gem_core():
    env = gem_core.make("game:GuessTheNumber-v0-easy", tools=[Upper()])
    assert "<upper>" in env.reset(seed=1)[0]
    step = env.step("<upper>yes")
    assert (step.observation, step.info["tool_success_counter"]) == ("YES", 1)
    assert env.fork().step("<upper>yes").info["tool_use_counter"] == 2


def test_a_base_tool_passes_the_conformance_kit():
    check_tool(PythonCodeTool, calls=["<python>print(1)</python>"]).raise_for_findings()


def test_tools_of_gem_core_are_tools_here():
    @gem_tasks.as_tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    python = gem_core.make_tool("python")
    env = wrapped(python)
    assert "1024" in env.step("<python>print(2**10)</python>")[0]
    adapted = AdaptedTool(python)
    assert adapted.tool_type == "python"
    assert adapted.instruction_string() == python.instructions()
    valid, failed, output, parsed = adapted.execute_action("x <python>1/0</python> y")
    assert (valid, failed, parsed) == (True, True, "x <python>1/0</python>")
    assert "ZeroDivisionError" in output
    assert adapted.execute_action("none") == (False, True, "", "none")


def test_the_python_tool_runs_code_and_shows_its_output():
    tool = PythonCodeTool()
    assert (tool.tool_type, tool.timeout, tool.keep_error_last_line) == ("python_code", 5, False)
    assert tool.execute_action("no code") == (False, True, "", "no code")
    assert tool.execute_action("so <python>print('  hi')</python> more") == (
        True,
        False,
        "Code execution result:   hi\n\n",
        "so <python>print('  hi')</python>",
    )
    assert tool._parse_action("a ```python\nx\n``` b") == ("x", "a ```python\nx\n```", True)
    assert tool._parse_action("a") == (None, "a", False)
    valid, failed, output, _ = tool.execute_action("```python\nprint(1)\n1/0\n```")
    assert (valid, failed) == (True, True)
    assert "Traceback" in output
    short = PythonCodeTool(5, "none", True)
    _, _, output, _ = short.execute_action("```python\nprint(1)\n1/0\n```")
    assert output == "Code execution result: 1\n\nZeroDivisionError: division by zero\n"
    assert "boxed" in tool.instruction_string()
    tool.close()
    tool.close()
    with pytest.raises(ConfigError, match="sandbox_type"):
        PythonCodeTool(sandbox_type="jail").execute_action("<python>1</python>")


def test_python_tools_are_paid_by_name():
    for name, reward in (("python_tool", 0.3), ("python_tool_no_int_reward", 0.0)):
        env = get_wrapper_fns(name)[0](gem.make(GAME))
        env.reset(seed=1)
        assert env.step("<python>print(1)</python>")[1] == pytest.approx(reward)
        assert env.max_tool_uses == 5
    one, other = (get_wrapper_fns("python_tool")[0](gem.make(GAME)) for _ in range(2))
    assert one.tools[0] is not other.tools[0]


def test_a_search_needs_a_server(monkeypatch):
    monkeypatch.delenv("SEARCH_URL", raising=False)
    tool = SearchTool()
    assert (tool.tool_type, tool.topk, tool.timeout, TIMEOUT) == ("search", 3, 5, 5)
    assert "<information>" in tool.instruction_string()
    assert tool.execute_action("nothing") == (False, True, "", "")
    with pytest.raises(ValueError, match="SEARCH_URL"):
        tool.execute_action("<search>x</search>")


@pytest.mark.slow
def test_a_search_that_fails_says_so(monkeypatch):
    monkeypatch.setenv("SEARCH_URL", "http://127.0.0.1:9/retrieve")
    valid, failed, output, parsed = SearchTool(timeout=2).execute_action("a <search>x</search> b")
    assert (valid, failed, parsed) == (True, True, "a <search>x</search>")
    assert "[SearchTool Error:" in output
    assert SearchTool().execute_action("<search>never closed")[0] is False


@pytest.mark.slow
def test_mcp_servers_are_called():
    tool = MCPTool.from_local_command({"command": TIME[0], "args": TIME[1:]}, name="clock")
    try:
        names = [one["name"] for one in tool.get_available_tools()]
        assert "days_in_month" in names
        assert "<tools>" in tool.instruction_string()
        call = (
            "<tool_call><tool_name>days_in_month</tool_name>"
            '<arguments>{"date": "2024-02-10"}</arguments></tool_call>'
        )
        assert tool.execute_action(f"{call} and more") == (True, False, "29", call)
        assert tool.execute_action("nothing") == (False, True, "", "")
        valid, failed, *_ = tool.execute_action(call.replace("days", "weeks"))
        assert (valid, failed) == (True, True)
        env = wrapped(tool)
        assert env.step(call)[4]["tool_type"] == "mcp"
        tool.reconfigure({"mcpServers": {"time": {"command": TIME[0], "args": TIME[1:]}}})
        assert tool.get_available_tools()[0]["server_info"]["servers"] == ["time"]
    finally:
        tool.close()


@pytest.mark.slow
def test_mcp_configurations_are_checked(tmp_path):
    with pytest.raises(ValueError, match=r"reach|connect|answer"):
        MCPTool.from_url("http://127.0.0.1:9/mcp", auth="token", headers={"a": "b"})
    path = tmp_path / "servers.json"
    path.write_text('{"mcpServers": {"a": {"url": "http://127.0.0.1:9/mcp"}}}')
    MCPTool.from_config_file(str(path), validate_on_init=False).close()
    MCPTool.from_multi_server(
        {"a": "http://127.0.0.1:9/a", "b": "http://127.0.0.1:9/b"}, validate_on_init=False
    ).close()


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (TimeoutError(), True),
        (OSError("ECONNRESET"), True),
        (RuntimeError("Failed to connect to it"), True),
        (ValueError("no such tool"), False),
    ],
)
def test_timeouts_are_distinguished_from_other_errors(error, expected):
    assert is_timeout_error(error) is expected

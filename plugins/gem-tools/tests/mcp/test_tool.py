"""What an agent reads of a call: results of every kind, and failures that say what to do."""

import asyncio
import json
import re
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from needs import needs
from selection import thorough

import gem_core
from gem_core import AsyncEnv, BaseEnv, Step
from gem_core.errors import ConfigError
from gem_core.testing import check_tool
from gem_core.wrappers import ToolWrapper
from gem_tools.formats import HermesFormat
from gem_tools.mcp import MCPTool
from gem_tools.mcp.menu import Menu
from gem_tools.mcp.sessions import Offer

few = settings(max_examples=100 if thorough() else 30)

pytestmark = pytest.mark.slow  # the server that most of them call starts in two seconds
ECHO = '<tool_call> <tool_name>echo</tool_name> <arguments>{"text": "hi"}</arguments> </tool_call>'


class Question(BaseEnv):
    """Ends with the first action."""

    def start(self):
        return "What is it?", {}

    def step(self, action):
        return Step("over", float(action == "hihi"), True, False, {})


def test_a_call_is_found_in_an_action_and_what_follows_it_is_dropped(odd):
    call = odd.parse(f"I ask. {ECHO} and then I go on {ECHO}")
    assert call is not None
    assert (call.tool, call.function, call.arguments) == ("mcp", "echo", {"text": "hi"})
    assert call.text == f"I ask. {ECHO}"


def test_the_first_complete_block_counts_however_the_text_before_it_looks(odd):
    begun = "<tool_call><tool_name>echo</tool_name><arguments>{"
    whole = "<tool_call><tool_name>pid</tool_name></tool_call>"
    assert odd.parse(begun + whole).function == "pid"
    assert odd.parse(begun * 20_000) is None  # in linear time, or the test would not end
    assert odd.parse(begun * 20_000 + "</arguments></tool_call>").function == "echo"


@pytest.mark.parametrize("arguments", ["<arguments></arguments>", "<arguments> </arguments>", ""])
def test_empty_arguments_are_no_arguments(odd, arguments):
    call = odd.parse(f"<tool_call><tool_name> pid </tool_name>{arguments}</tool_call>")
    assert call is not None
    assert call.arguments == {}
    assert odd.run(call).ok


@pytest.mark.parametrize(
    "action",
    ["", "<tool_call></tool_call>", '<tool_call>{"name": "echo"}</tool_call>', ECHO[:-5], 5, None],
)
def test_an_action_without_a_block_is_not_a_call(odd, action):
    assert odd.parse(action) is None


@few
@given(st.text())
def test_no_text_makes_parse_raise(text):
    tool = MCPTool(["never-started"], validate_on_init=False)
    tool.parse(text)
    call = tool.parse(f"<tool_call><tool_name>{text}</tool_name><arguments>{text}</arguments>")
    assert call is None or call.tool == "mcp"


def test_arguments_that_are_no_json_object_are_a_failed_call_that_says_so(odd):
    for arguments, said in (('{"text": hi}', "not JSON"), ("[1]", "one JSON object; got a list")):
        block = f"<tool_call><tool_name>echo</tool_name><arguments>{arguments}</arguments>"
        result = odd.run(odd.parse(f"{block}</tool_call>"))
        assert not result.ok
        assert result.output.startswith("[Tool execution failed: ")
        assert said in result.output


def test_an_unknown_tool_is_a_failed_call_that_names_near_ones(odd, call):
    result = call(odd, "ecko", text="hi")
    assert not result.ok
    assert "Did you mean 'echo'" in result.output
    assert "flood" in result.output


def test_arguments_that_do_not_fit_never_reach_the_server_and_the_agent_learns_why(odd, call):
    result = call(odd, "echo", txt="hi", times="3")
    assert result.output.startswith("[Tool execution failed: ")
    assert "echo(text: string, times: integer = 1)" in result.output
    assert "'text' is a required property" in result.output
    assert "'txt' was unexpected" in result.output
    assert "'3' is not of type 'integer'" in result.output


def test_structured_data_is_shown_once_as_json_and_bare_values_bare(odd, call):
    assert json.loads(call(odd, "table").output) == {"name": "Ada", "scores": [1, 2]}
    assert call(odd, "numbers").output == "[1, 2, 3]"
    assert call(odd, "echo", text="ü ", times=2).output == "ü ü "


def test_an_image_is_in_the_info_and_named_in_the_text(odd, call):
    result = call(odd, "picture")
    (image,) = result.info["images"]
    assert isinstance(image, gem_core.content.Image)
    assert image.media_type == "image/png"
    assert result.output == f"A pixel:\n[image 1, image/png, {len(image.data)} bytes]"


def test_other_content_is_described_and_texts_of_resources_are_shown(odd, call):
    lines = call(odd, "things").output.splitlines()
    assert lines == [
        "[audio, audio/wav, 4 bytes]",
        "[resource 'manual': file:///manual.pdf]",
        "[resource memo://a]",
        "remember",
        "[resource memo://b, application/zip, 4 bytes]",
    ]


def test_a_call_without_output_says_that_it_ran(odd, call):
    result = call(odd, "nothing")
    assert result.ok
    assert result.output == "The tool ran and returned no output."


def test_an_error_of_the_server_differs_from_a_failure_to_call(odd, call):
    result = call(odd, "crash")
    assert not result.ok
    assert result.output.startswith("[Tool execution error: ")
    assert result.info["server"] == "default"


def test_a_megabyte_of_result_is_cut_in_the_middle_with_a_notice(odd, call):
    result = call(odd, "flood", size=3_000_000)
    assert result.ok
    assert result.output.startswith("0123456789")
    assert result.output.endswith("0123456789")
    assert "[... 2,980,000 characters are left out here ...]" in result.output
    assert len(result.output) < 20_100


def test_the_instructions_list_one_tool_a_line_by_name(odd):
    text = odd.instructions()
    tools = re.search(r"<tools>\n(.*)\n</tools>", text, re.DOTALL)
    assert tools is not None
    listed = [json.loads(line) for line in tools[1].splitlines()]
    names = [one["function"]["name"] for one in listed]
    assert names == sorted(names)
    echo = next(one for one in listed if one["function"]["name"] == "echo")
    assert echo["type"] == "function"
    assert echo["function"]["parameters"]["required"] == ["text"]
    assert "<tool_call> <tool_name>" in text


def test_the_listing_names_the_server_of_each_tool(odd):
    tools = {tool["name"]: tool for tool in odd.get_available_tools()}
    assert tools["echo"]["description"] == "Say it again."
    assert tools["echo"]["server_info"] == {
        "is_multi_server": False,
        "servers": ["default"],
        "detected_server": "default",
    }


def test_the_tool_keeps_the_contract_of_tools(odd, odd_command):
    report = check_tool(lambda: MCPTool(odd_command), calls=[ECHO])
    assert report.ok, report


def test_an_episode_goes_on_after_calls_good_and_bad(odd):
    env = ToolWrapper(Question(), tools=[odd])
    observation, _ = env.reset()
    assert "Say it again." in observation
    good = env.step(ECHO)
    assert (good.observation, good.terminated, good.info["tool_type"]) == ("hi", False, "mcp")
    bad = env.step(ECHO.replace("echo", "no_such_tool"))
    assert not bad.terminated
    assert (bad.info["tool_use_counter"], bad.info["tool_success_counter"]) == (2, 1)
    assert env.step("hihi").reward == 1.0


def test_formats_that_name_functions_call_the_same_tools(odd):
    env = ToolWrapper(Question(), tools=[odd], call_format=HermesFormat())
    env.reset()
    step = env.step('<tool_call>\n{"name": "echo", "arguments": {"text": "ho"}}\n</tool_call>')
    assert "ho" in step.observation
    assert step.info["tool_success_counter"] == 1


def test_progress_and_log_messages_reach_their_handlers(odd_command, call):
    steps, logs = [], []
    tool = MCPTool(
        odd_command,
        progress_handler=lambda *step: steps.append(step),
        log_handler=lambda message: logs.append((message.level, message.data)),
    )
    assert call(tool, "count", to=3).output == "counted"
    assert call(tool, "chatter", lines=2).output == "done"
    tool.close()
    assert steps == [(1.0, 3.0, "step 1"), (2.0, 3.0, "step 2"), (3.0, 3.0, "step 3")]
    assert logs == [("info", "line 0"), ("info", "line 1")]


def test_a_sampling_request_of_a_server_is_answered_by_its_handler(tmp_path, call):
    script = tmp_path / "asks.py"
    script.write_text(
        "from mcp.server.mcpserver import Context, MCPServer\n"
        "from mcp.types import SamplingMessage, TextContent\n"
        "server = MCPServer('asks')\n"
        "@server.tool(structured_output=False)\n"
        "async def ask(question: str, ctx: Context) -> str:\n"
        "    content = TextContent(type='text', text=question)\n"
        "    message = SamplingMessage(role='user', content=content)\n"
        "    answer = await ctx.session.create_message([message], max_tokens=5)\n"
        "    return answer.content.text\n"
        "server.run('stdio')\n"
    )

    def answer(messages, params, context):
        return f"{messages[0].content.text}? Yes."

    tool = MCPTool([sys.executable, "-W", "ignore", str(script)], sampling_handler=answer)
    result = call(tool, "ask", question="Is it")
    tool.close()
    assert result.output == "Is it? Yes."


def test_validation_names_a_server_that_cannot_be_started_and_what_it_wrote():
    with pytest.raises(ConfigError, match="no-such-program"):
        MCPTool(["no-such-program"])
    with pytest.raises(ConfigError, match="I cannot start"):
        MCPTool([sys.executable, "-c", "import sys; sys.exit('I cannot start')"])


def test_a_server_that_never_answers_is_given_up_after_the_connect_timeout():
    waits = [sys.executable, "-c", "import time; time.sleep(60)"]
    with pytest.raises(ConfigError, match=r"no answer within 0\.5 s"):
        MCPTool(waits, connect_timeout=0.5)


def test_without_validation_a_dead_server_is_a_failed_call(call):
    tool = MCPTool(["no-such-program"], validate_on_init=False, max_retries=0)
    result = call(tool, "echo")
    assert result.output.startswith("[Tool execution failed: failed to connect")
    tool.close()


def test_agents_read_the_name_of_a_lost_server_and_not_its_command(call):
    config = {"mcpServers": {"vault": {"command": "no-such-program", "args": ["--key=secret"]}}}
    tool = MCPTool(config, validate_on_init=False, max_retries=0)
    said = call(tool, "echo").output
    assert "--key" not in said
    with pytest.raises(ConfigError, match="no-such-program"):
        tool.get_available_tools()


def test_a_server_that_also_writes_to_its_standard_output_is_understood(plain_command, call, capfd):
    tool = MCPTool([*plain_command, "talks"])
    assert call(tool, "pid").ok
    tool.close()
    assert "Welcome" not in "".join(capfd.readouterr())


def test_another_configuration_takes_the_place_of_the_first(odd, odd_command, clock, call):
    tool = MCPTool(odd_command)
    assert call(tool, "echo", text="a").ok
    tool.reconfigure([sys.executable, "-m", "gem_tools.mcp.time_server", "--transport", "stdio"])
    assert {one["name"] for one in tool.get_available_tools()} >= {"current_time"}
    assert call(tool, "days_in_month", date="2024-02-10").output == "29"
    assert not call(tool, "echo", text="a").ok
    tool.close()


def offer(name):
    return Offer(name, f"does {name}", {"type": "object", "properties": {}})


def test_names_that_clash_get_their_servers_name_and_the_long_form_always_works():
    menu = Menu((("a", (offer("read"), offer("x.y"))), ("b", (offer("read"), offer("write")))))
    assert sorted(menu.entries) == ["a_read", "b_read", "write", "x_y"]
    assert [menu.find(n).server for n in ("a.read", "b_read", "write", "b.write")] == list("abbb")
    assert menu.find("x.y") is menu.find("x_y")
    assert menu.find("read") is None
    assert "a_read" in menu.problem("read", {})
    assert menu.entries["write"].function.description == "[b] does write"


NAMES = st.text(st.sampled_from("ab._/ü"), min_size=1, max_size=70)


@few
@given(st.lists(st.tuples(NAMES, st.lists(NAMES, max_size=4, unique=True)), max_size=4))
def test_every_tool_of_every_server_has_a_unique_name_that_models_accept(servers):
    listings = tuple((name, tuple(map(offer, tools))) for name, tools in dict(servers).items())
    menu = Menu(listings)
    assert len(menu.entries) == sum(len(offers) for _, offers in listings)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in menu.entries)


def test_several_servers_are_one_tool_and_each_call_goes_to_its_own(
    odd, odd_command, plain_command, clock, call
):
    command, *words = [sys.executable, "-m", "gem_tools.mcp.time_server", "--transport", "stdio"]
    config = {
        "mcpServers": {
            "one": {"command": odd_command[0], "args": odd_command[1:]},
            "two": {"command": plain_command[0], "args": plain_command[1:], "env": {"N": "2"}},
            "clock": {"command": command, "args": words},
        }
    }
    tool = MCPTool(config)
    pids = {call(tool, name).output for name in ("one_pid", "two_pid", "one.pid")}
    assert len(pids) == 2
    assert call(tool, "days_in_month", date="2023-02-01").output == "28"
    assert "[clock] " in tool.instructions()
    tool.close()


def test_a_public_server_works_as_it_is(call):
    needs("mcp_server_time")
    tool = MCPTool.from_local_command([sys.executable, "-m", "mcp_server_time"], name="public")
    result = call(
        tool,
        "convert_time",
        source_timezone="Asia/Tokyo",
        time="12:00",
        target_timezone="UTC",
    )
    refused = call(tool, "get_current_time", timezone="Nowhere/Here")
    tool.close()
    assert "T03:00:00" in result.output
    assert refused.output.startswith("[Tool execution error: ")


def test_an_asynchronous_caller_awaits_many_calls_concurrently(odd):
    async def many():
        call = odd.parse(ECHO)
        return await asyncio.gather(*(odd.arun(call) for _ in range(50)))

    assert {result.output for result in asyncio.run(many())} == {"hi"}


def test_episodes_of_an_asynchronous_environment_share_the_session_without_waiting_in_turn(odd):
    class Later(AsyncEnv):
        async def start(self):
            return "What is it?", {}

        async def step(self, action):
            return Step("over", 1.0, True, False, {})

    async def play(env):
        await env.reset()
        called = await env.step(ECHO)
        return called.observation, (await env.step("hi")).reward

    async def play_all():
        return await asyncio.gather(*(play(ToolWrapper(Later(), tools=[odd])) for _ in range(16)))

    assert set(asyncio.run(play_all())) == {("hi", 1.0)}


def test_registering_the_tools_imports_no_sdk():
    code = (
        "import sys, gem_tools.plugin, gem_core; gem_core.make_tool('mcp', config=['x'], "
        "validate_on_init=False); print([m for m in sys.modules if m in ('mcp', 'httpx2')])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"

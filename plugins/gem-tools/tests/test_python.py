"""The Python tool: which piece it runs, what it shows, what counts as success."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

import gem_core
from gem_core import AsyncEnv, BaseEnv, Step, ToolCall
from gem_core.errors import ConfigError, UnknownIdError, UnknownKwargError
from gem_core.testing import check_tool
from gem_core.wrappers import ToolWrapper
from gem_tools.python import RESULT, PythonTool

FENCE = "```"
few = settings(max_examples=100 if thorough() else 25)


@pytest.fixture
def tool():
    made = PythonTool()
    yield made
    made.close()


def parsed(action):
    call = PythonTool().parse(action)
    return call and (call.arguments["code"], call.text)


def shown(tool, code):
    return tool.run(tool.parse(f"<python>{code}</python>"))


class Echo(BaseEnv):
    def start(self):
        return "Say something.", {}

    def step(self, action):
        return Step(f"heard {action}", 0.5, True, False, {})


class AsyncEcho(AsyncEnv):
    async def start(self):
        return "Say something.", {}

    async def step(self, action):
        return Step(f"heard {action}", 0.5, True, False, {})


def test_the_piece_that_ends_first_is_run_and_the_rest_is_dropped(subtests):
    for action, code in [
        ("<python>x = 1</python>", "x = 1"),
        ("So:\n<python>\nx = 1\n</python>", "x = 1"),
        ("<python></python>", ""),
        (f"{FENCE}python\nx = 1\n{FENCE}", "x = 1"),
        (f"{FENCE}\npython\nx = 1\n{FENCE}", "x = 1"),
        (f"{FENCE}python3\r\nx = 1\r\ny = 2\r\n{FENCE}", "x = 1\ny = 2"),
        (f"{FENCE}python x = 1{FENCE}", "x = 1"),
        (f"{FENCE}c\nx\n{FENCE}\n{FENCE}python\nx = 1\n{FENCE}", "x = 1"),
        ("<python>\n    if x:\n        y\n</python>", "if x:\n    y"),
        ("<python> if x:\n    y</python>", "if x:\n    y"),
        (f"<python>x = 1</python> {FENCE}python\nx = 2\n{FENCE}", "x = 1"),
        (f"{FENCE}python\nx = 2\n{FENCE}<python>x = 1</python>", "x = 2"),
        (f"{FENCE}python\n<python>x = 1</python>\n{FENCE}", "x = 1"),
        (f"<python>\n{FENCE}python\nx = 2\n{FENCE}\n</python>", "x = 2"),
        ("<python>x = 1</python><python>x = 2</python>", "x = 1"),
    ]:
        with subtests.test(action=action, code=code):
            found, text = parsed(action)
            assert found == code
            assert action.startswith(text)
            assert text.endswith((FENCE, "</python>"))


def test_other_actions_are_not_calls_of_the_tool(subtests):
    for action in [
        "",
        "x = 1",
        "<python>x = 1",
        "x = 1</python>",
        "</python><python>",
        f"{FENCE}python\nx = 1",
        f"{FENCE}\nx = 1\n{FENCE}",
        f"{FENCE}bash\nls\n{FENCE}",
        f"{FENCE}pythonic\nx\n{FENCE}",
        None,
        5,
        {"tool": "python"},
        ["<python>x</python>"],
        b"<python>x</python>",
    ]:
        with subtests.test(action=action):
            assert parsed(action) is None


@pytest.mark.slow
@few
@given(st.text(alphabet="ab ="), st.text(alphabet="xy =\n"), st.text())
def test_the_text_kept_is_the_action_up_to_the_end_of_the_piece(before, code, after):
    found, kept = parsed(f"{before}<python>{code}</python>{after}")
    assert kept == f"{before}<python>{code}</python>"
    # Whatever its indentation, which is taken off.
    assert _words(found) == _words(code.strip())


def _words(text):
    return [line.strip() for line in text.split("\n")]


@pytest.mark.timeout(60)  # a search of quadratic time takes hours
@pytest.mark.parametrize("text", ["<python>", "</python>", f"{FENCE}python", FENCE, "`", "\n"])
def test_long_texts_of_marks_are_read_in_time(text):
    assert parsed(text * 200_000) is None or FENCE in text


@pytest.mark.slow
def test_what_a_program_prints_is_shown(tool, subtests):
    for code, output, ok in [
        ("print(4)", "4\n", True),
        ("", "", True),
        ("print('  indented\\n    more')", "  indented\n    more\n", True),
        ("print('\\n\\n  late')", "  late\n", True),
        ("import sys; print(1); print('warned', file=sys.stderr)", "1\n\nwarned", True),
        ("import sys; print('warned', file=sys.stderr)", "warned", True),
        ("import sys; print(input())", "EOFError: EOF when reading a line", False),
        ("print(1); exit(3)", "1\n", False),
        ("exit()", "", True),
        ("print('\\u00e9\\u4e2d')", "é中\n", True),
        ("x = '\ud800'", "", False),
    ]:
        with subtests.test(code=code, output=output, ok=ok):
            result = shown(tool, code)
            assert result.ok is ok
            assert result.output.startswith(RESULT)
            assert result.output.endswith("\n")
            shown_output = result.output.removeprefix(RESULT).removesuffix("\n")
            assert shown_output == output or (not ok and shown_output.endswith(output))


@pytest.mark.slow
def test_the_exit_status_is_in_info(tool):
    assert shown(tool, "exit(3)").info == {"exit_status": 3, "limit": None}


@pytest.mark.slow
def test_an_error_can_be_cut_to_its_last_line():
    code = "def f():\n    return 1 / 0\nprint('so far')\nf()"
    short = shown(PythonTool(keep_error_last_line=True), code)
    assert short.output == f"{RESULT}so far\n\nZeroDivisionError: division by zero\n"
    assert "Traceback" in shown(PythonTool(), code).output
    assert not short.ok


@pytest.mark.slow
@pytest.mark.parametrize("keep", [False, True])
def test_a_program_is_ended_after_the_given_timeout(keep):
    for seconds in (0.5, 5.0, 50.0):  # a busy machine needs more until it prints
        tool = PythonTool(timeout=seconds, keep_error_last_line=keep)
        result = shown(tool, "print('so far', flush=True)\nwhile True: pass")
        if "so far" in result.output:
            break
    said = f"Execution timed out after {seconds} seconds."
    assert result.output == f"{RESULT}so far\n\n{said}\n"
    assert (result.ok, result.info["limit"]) == (False, "wall_time")


@pytest.mark.slow
def test_a_program_that_meets_another_limit_names_it():
    result = shown(PythonTool(memory=1 << 27), "x = bytearray(1 << 30)")
    assert not result.ok
    assert "it reached the limit of memory" in result.output


@pytest.mark.slow
def test_long_output_loses_its_middle():
    result = shown(PythonTool(longest_output=100), "print('a' * 500 + 'b' * 500)")
    assert result.ok
    left_out = "\n[... 901 characters are left out here ...]\n"
    assert result.output == f"{RESULT}{'a' * 50}{left_out}{'b' * 49}\n\n"


@pytest.mark.slow
def test_each_run_is_a_separate_program(tool):
    assert shown(tool, "x = 1").ok
    assert "NameError" in shown(tool, "print(x)").output


@pytest.mark.slow
def test_common_names_are_supplied_unless_that_is_not_wanted():
    assert shown(PythonTool(), "print(math.isqrt(17))").output == f"{RESULT}4\n\n"
    assert "NameError" in shown(PythonTool(supply_names=False), "math.isqrt(17)").output


def test_the_instructions_say_how_to_call_it_and_how_to_answer():
    said = PythonTool(timeout=7).instructions()
    for part in ("<python>", "```python", RESULT.strip(), "7 seconds", "\\boxed{}"):
        assert part in said
    assert "{" not in said.replace("\\boxed{}", "")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"timeout": 0}, ConfigError, "timeout"),
        ({"memory": 0}, ConfigError, "memory"),
        ({"longest_output": -1}, ConfigError, "longest_output"),
        ({"sandbox": "warn"}, UnknownIdError, "warm"),
        ({"sandbox": {"id": "warm", "worker": 1}}, UnknownKwargError, "workers"),
        ({"sandbox": {"workers": 1}}, ConfigError, "id"),
    ],
)
def test_parameters_that_cannot_work_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        PythonTool(**options)


@pytest.mark.slow
@pytest.mark.parametrize("tool_id", ["python", "python_session"])
def test_the_tools_keep_the_contract(tool_id):
    calls = ["<python>print(4)</python>", f"{FENCE}python\nx = 1\nprint(x)\n{FENCE}"]
    check_tool(tool_id, calls=calls).raise_for_findings()


@pytest.mark.slow
def test_a_call_costs_no_turn_and_the_answer_goes_to_the_environment():
    env = ToolWrapper(Echo(), tools=[PythonTool()])
    env.reset(seed=0)
    step = env.step("<python>print(6 * 7)</python> so it is 41")
    assert step.observation == f"{RESULT}42\n\n"
    assert step.info["parsed_action"] == "<python>print(6 * 7)</python>"
    assert step.info["tool_type"] == "python"
    step = env.step("42")
    assert (step.observation, step.reward, step.terminated) == ("heard 42", 0.5, True)
    assert step.info["use_tool"] is False


@pytest.mark.parametrize(
    ("arguments", "ok"), [({"code": "print(4)"}, True), ({"code": 4}, False), ({}, False)]
)
def test_a_call_by_name_has_the_code_as_its_argument(tool, arguments, ok):
    (function,) = tool.functions()
    assert function.parameters["required"] == ["code"]
    result = tool.run(ToolCall("python", arguments, "", function=function.name))
    assert result.ok is ok
    assert ("4" in result.output) is ok


@pytest.mark.slow
def test_a_fork_calls_the_tool_after_its_original_is_closed():
    env = ToolWrapper(Echo(), tools=[PythonTool()])
    env.reset(seed=0)
    fork = env.fork()
    env.close()
    assert fork.step("<python>print(1)</python>").observation == f"{RESULT}1\n\n"
    fork.close()


@pytest.mark.slow
def test_other_tasks_go_on_while_an_asynchronous_environment_runs_a_program():
    ticks = []

    async def tick():
        while True:
            ticks.append(1)
            await asyncio.sleep(0.01)

    async def play():
        env = ToolWrapper(AsyncEcho(), tools=[PythonTool()])
        await env.reset(seed=0)
        ticking = asyncio.create_task(tick())
        step = await env.step("<python>import time; time.sleep(1); print(1)</python>")
        ticking.cancel()
        last = await env.step("done")
        env.close()
        return step.observation, last.observation

    assert asyncio.run(play()) == (f"{RESULT}1\n\n", "heard done")
    assert len(ticks) > 10


@pytest.mark.slow
def test_many_environments_run_programs_concurrently():
    vec = gem_core.make_vec("math:Sample", num_envs=8, tools=["python"], executor="threads")
    vec.reset(seed=0)
    observations, *_ = vec.step([f"<python>print({n} * 2)</python>" for n in range(8)])
    vec.close()
    assert list(observations) == [f"{RESULT}{2 * n}\n\n" for n in range(8)]

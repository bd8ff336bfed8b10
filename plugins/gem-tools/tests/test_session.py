"""The session tool: what stays from one run to the next, and what a fork takes along."""

import pytest

from gem_core import BaseEnv, Step
from gem_core.wrappers import ToolWrapper
from gem_tools.python import RESULT, PythonSessionTool


class Question(BaseEnv):
    def start(self):
        return "What is x?", {}

    def step(self, action):
        return Step("", 0.0, True, False, {})


@pytest.fixture(params=[60])
def env(request):
    tools = [PythonSessionTool(timeout=request.param)]
    with ToolWrapper(Question(), tools=tools, max_tool_uses=None) as made:
        made.reset(seed=0)
        yield made


def said(env, code):
    return env.step(f"<python>{code}</python>").observation.removeprefix(RESULT).strip()


@pytest.mark.slow
def test_variables_imports_and_files_stay(env):
    said(env, "import math\nx = 2\ndef f(n): return n + x\nopen('note', 'w').write('kept')")
    assert said(env, "print(math.sqrt(f(2)), open('note').read())") == "2.0 kept"


@pytest.mark.slow
def test_an_error_keeps_what_was_there(env):
    said(env, "x = 1")
    assert "ZeroDivisionError" in said(env, "y = 2\n1 / 0")
    assert said(env, "print(x, y)") == "1 2"


@pytest.mark.slow
@pytest.mark.parametrize("env", [2], indirect=True)
def test_a_run_that_met_a_limit_begins_anew_and_says_so(env):
    said(env, "x = 1")
    assert "timed out after 2 seconds" in said(env, "while True: pass")
    assert "NameError" in said(env, "print(x)")


@pytest.mark.slow
def test_an_episode_begins_with_nothing(env):
    said(env, "x = 1")
    env.reset()
    assert "NameError" in said(env, "print(x)")


@pytest.mark.slow
def test_a_fork_goes_on_by_itself_from_the_same_state(env):
    said(env, "x = [1]\nprint('once')")
    fork = env.fork()
    assert said(fork, "x.append(2); print(x)") == "[1, 2]"
    assert said(env, "x.append(3); print(x)") == "[1, 3]"
    env.close()
    assert said(fork, "print(x)") == "[1, 2]"
    fork.close()


@pytest.mark.slow
def test_a_snapshot_brings_the_state_back(env):
    empty = env.snapshot()
    said(env, "x = 1")
    snapshot = env.snapshot()
    said(env, "x = 2")
    env.restore(snapshot)
    assert said(env, "print(x)") == "1"
    env.restore(empty)
    assert "NameError" in said(env, "print(x)")


def test_a_closed_tool_may_be_closed_again_and_its_instructions_say_what_stays():
    tool = PythonSessionTool()
    tool.close()
    tool.close()
    assert "stay from one run to the next" in tool.instructions()

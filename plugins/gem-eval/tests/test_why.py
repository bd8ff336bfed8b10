"""Failures by cause: the rules, runs written down by hand, and real environments."""

import csv
import io
import json
import os
import re
import subprocess
import sys

import pytest

from gem_core import make
from gem_core.agent import BaseAgent, Generation, Reply
from gem_core.console import Terminal
from gem_core.errors import ConfigError
from gem_core.info import graded
from gem_eval.causes import RULES, Ending, cause_of
from gem_eval.episodes import run_and_agent
from gem_eval.tables import print_table
from gem_eval.view.tables import EPISODE_COLUMNS, episode_row
from gem_eval.why import failures_of
from gem_eval.why_command import cells_of
from gem_rollout import TrajectoryFile, play_episode

CUT = Generation(finish_reason="length")
FAILED_CALL = {"tool": "python", "ok": False}


class Scripted(BaseAgent):
    """Says the same in each turn, and stops as a model does."""

    def __init__(self, text, finish_reason="stop"):
        self._reply = Reply(text, Generation(finish_reason=finish_reason))

    def act(self, observation, info):
        return self._reply


def played(env_id, text, finish_reason="stop", **options):
    with make(env_id, **options) as env:
        return play_episode(env, Scripted(text, finish_reason), 3)


def cause(trajectory):
    """Return the cause, after checking that a line of a file has the same one."""
    found = cause_of(Ending.of(trajectory))
    row = episode_row(json.loads(json.dumps(trajectory.to_dict())))
    assert (row["cause"], row["reason"]) == (
        found and found[0],
        (found and found[1]) or row["reason"],
    )
    return found and found[0]


def said(reason="compared by text", extracted="5"):
    return graded(question="2 + 2?", expected="4", extracted=extracted, score=0, reason=reason)


@pytest.mark.parametrize(
    ("expected", "given"),
    [
        ("context", {"error": "agent", "kind": "ContextLengthError"}),
        ("context", {"truncated_by": "response_tokens"}),
        ("fault", {"error": "tool"}),
        ("fault", {"error": "env", "generation": CUT}),
        ("cut", {"generation": CUT, "format_error": True}),
        ("cut", {"truncated_by": "turn_tokens"}),
        ("format", {"format_error": True, "tool_calls": [FAILED_CALL]}),
        ("tool", {"tool_calls": [FAILED_CALL]}),
        ("tool", {"tool_use_counter": 2, "tool_success_counter": 0}),
        ("wrong", {"tool_calls": [FAILED_CALL, {"tool": "python", "ok": True}]}),
        ("wrong", {"tool_use_counter": 2, "tool_success_counter": 1}),
        ("wrong", {}),
    ],
)
def test_the_first_rule_that_holds_is_the_cause(trajectory, expected, given):
    kind = given.pop("kind", "Broken")
    made = trajectory(False, **given)
    if made.error:
        made.error["type"] = kind
    assert cause(made) == expected


def test_an_episode_that_was_cut_off_has_reached_a_limit(trajectory):
    made = trajectory(False, truncated_by="max_turns", grading=said("2 of 3 tests pass"))
    made.turns[-1].terminated, made.turns[-1].truncated = False, True
    assert cause(made) == "limit"
    assert cause_of(Ending.of(made))[1] == "max_turns was reached: 2 of 3 tests pass"


def test_success_has_no_cause_and_neither_has_an_episode_that_is_not_judged(trajectory):
    assert cause(trajectory(True, format_error=True)) is None
    assert cause(trajectory(None)) is None
    assert cause(trajectory(None, error="env")) == "fault"


def test_an_info_of_another_program_may_hold_anything(trajectory):
    for grading in ("no", {"verdict": "fine"}, {"verdict": "wrong", "expected": 4}, None):
        made = trajectory(False, grading=grading, tool_calls="none", tool_use_counter=None)
        assert cause(made) == "wrong"
    assert Ending.of(made).grading is None
    made = trajectory(False, tool_use_counter="7", tool_success_counter=[], truncated_by=["x"])
    assert cause(made) == "wrong"


CODE = {"problem": "Double it.", "tests": {"inputs": ["1\n", "2\n"], "outputs": ["2", "4"]}}
ANSWERS = {
    "math:Custom": (
        {"data": [{"problem": "2 + 2?", "answer": "4"}]},
        r"\boxed{5}",
        ("4", "5", "compared by value"),
        r"no \boxed{} in the reply",
    ),
    "qa:Custom": (
        {"data": [{"question": "Who?", "answer": ["Ada", "A."]}]},
        "<answer>Bob</answer>",
        ("Ada | A.", "Bob", "compared by text, F1 0.00"),
        "no <answer> tag in the reply",
    ),
    "code:Custom": (
        {"data": [CODE]},
        "```python\nprint(2)\n```",
        ("4", "2\n", "test 1 failed (wrong output); 1 of 2 passed; its input was 2\n"),
        "no closed block of code in the reply",
    ),
    "rg:leg_counting": (
        {},
        r"\boxed{-1}",
        (None, "-1", "the task's scorer gave 0 of 1"),
        r"no \boxed{} in the reply, and no <answer> tag",
    ),
    "game:GuessTheNumber-v0-easy": (
        {},
        r"\boxed{99}",
        (None, "99", None),
        r"no action of the form \boxed{number}",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("env_id", ANSWERS)
def test_a_family_explains_a_wrong_a_missing_and_a_cut_answer(env_id):
    options, wrong, (expected, extracted, reason), missing = ANSWERS[env_id]
    made = played(env_id, wrong, **options)
    grading = made.turns[-1].info["grading"]
    assert cause(made) in ("wrong", "limit")
    assert grading["extracted"] == extracted
    assert grading["expected"] == expected or expected is None
    assert grading["reason"] == reason or reason is None
    for text, finish, name in (("I do not know.", "stop", "format"), ("I th", "length", "cut")):
        made = played(env_id, text, finish, **options)
        grading = made.turns[-1].info["grading"]
        assert cause(made) == name
        assert (grading["verdict"], grading["extracted"]) == ("no answer", None)
        assert grading["reason"] == missing


class Buyer(BaseAgent):
    """Searches for a word, and buys the first product that it finds as it is."""

    def reset(self, env):
        self.env = env.unwrapped

    def act(self, observation, info):
        actions = self.env.actions()
        if self.env.visit.place == "search":
            return "\\boxed{search[steel]}"
        buy = [one for one in actions if "buy now" in one]
        products = [one for one in actions if re.fullmatch(r"click\[b\w{9}\]", one)]
        return f"\\boxed{{{(buy or products)[0]}}}"


ENDINGS = {
    "a purchase": ("webshop:Sample", Buyer(), "wrong", r"attributes|kind of product|options"),
    "no purchase": ("webshop:Sample", Scripted("Hm."), "format", "no purchase: 15 turns"),
    "a dialogue": ("tau:Retail-Sample", Scripted("Goodbye."), "wrong", " instead of "),
    "a failed call": (
        "tau:Retail-Sample",
        Scripted('{"name": "x", "arguments": {}}'),
        "tool",
        "10",
    ),
    "a terminal": ("terminal:Sample", Scripted("```bash\nfinish\n```"), "wrong", "No such file"),
    "files": ("mcp:Sample", Scripted("Done."), "wrong", r"There is no .*\.txt"),
    "a path": ("game:WikiGame-v0-easy", Scripted("Hm."), "format", "turns are over.*no box"),
    "a mine": ("game:Minesweeper-v0-easy", Scripted(r"\boxed{reveal 9 9}"), "limit", "no cell"),
}


@pytest.mark.slow
@pytest.mark.parametrize("ending", ENDINGS)
def test_an_episode_of_several_turns_says_what_ended_it(ending):
    env_id, agent, expected, reason = ENDINGS[ending]
    with make(env_id) as env:
        made = play_episode(env, agent, 3)
    assert made.error is None, made.error
    assert cause(made) == expected
    assert re.search(reason, cause_of(Ending.of(made))[1])
    grading = made.turns[-1].info["grading"]
    assert grading["question"]
    assert grading["verdict"] in ("wrong", "no answer", "partly correct")


@pytest.fixture
def run(write, trajectory):
    def of(agent, group, **info):
        return trajectory(False, agent=agent, group=group, correct=False, **info)

    return write(
        "run",
        [
            trajectory(True, group=0, correct=True),
            of("a", 1, format_error=True, grading=said("no box", extracted=None)),
            of("a", 2, grading=said()),
            of("a", 3, format_error=True, grading=said("no box", extracted=None)),
            of("b", 1, env_id="math:Y", generation=CUT, grading=said()),
        ],
    )


def test_failures_are_grouped_by_environment_agent_and_cause(run):
    source, _ = run_and_agent(str(run))
    found = failures_of(source.trajectories())
    assert (found.episodes, found.total) == (5, 4)
    assert [
        (one.env, one.agent, one.cause, one.failures, one.episodes) for one in found.groups
    ] == [
        ("game:X-v0-easy", "a", "format", 2, 4),
        ("game:X-v0-easy", "a", "wrong", 1, 4),
        ("math:Y", "b", "cut", 1, 1),
    ]
    first, second, third = (one.example for one in found.groups)
    assert (first.episode, first.place, first.reason) == (1, "#/episode/0-1", "no box")
    assert (second.question, second.expected, second.extracted) == ("2 + 2?", "4", "5")
    assert third.place == "#/episode/0-4"
    assert found.by_return == []


def test_an_example_with_an_answer_is_preferred(write, trajectory):
    episodes = [
        trajectory(False, group=0, generation=CUT, grading=said(extracted=None)),
        trajectory(False, group=1, generation=CUT, grading=said(extracted="7")),
        trajectory(False, group=2, generation=CUT, grading=said(extracted="8")),
    ]
    (group,) = failures_of(episodes).groups
    assert (group.failures, group.example.extracted) == (3, "7")


@pytest.mark.slow
def test_the_command_prints_tables_and_plain_data(run, ok):
    text = ok("why", run)
    assert "4 of 5 episodes failed (80.0%): format 2, wrong 1, cut 1." in text
    assert "#/episode/0-1 after its address for episode 1" in text
    found = json.loads(ok("why", run, "--format", "json"))
    assert (found["episodes"], found["failures"]) == (5, 4)
    assert found["groups"][0]["share"] == 0.5
    rows = list(csv.DictReader(io.StringIO(ok("why", run, "--format", "csv"))))
    assert [row["cause"] for row in rows] == ["format", "wrong", "cut"]
    assert rows[1]["extracted"] == "5"
    assert "| a | game:X-v0-easy | format | 2 of 4 |" in ok("why", run, "--format", "md")


@pytest.mark.slow
def test_the_command_takes_an_agent_and_an_environment(run, ok, gem):
    def fails(*words):
        done = gem(*words)
        assert done.returncode == 1
        return done.stderr

    for words in ([f"{run}@b"], [run, "--agent", "b"], [run, "--env", "math:Y"]):
        assert "1 of 1 episodes failed (100.0%): cut 1." in ok("why", *words)
    assert "Did you mean 'math:Y'?" in fails("why", run, "--env", "math:Z")
    assert "no agent 'c'" in fails("why", f"{run}@c")
    assert "no episodes of these" in fails("why", f"{run}@b", "--env", "game:X-v0-easy")


def test_a_run_without_episodes_is_an_error(tmp_path):
    with TrajectoryFile(tmp_path / "trajectories.jsonl"):
        pass
    source, _ = run_and_agent(str(tmp_path))
    with pytest.raises(ConfigError, match="The run has no episodes"):
        failures_of(source.trajectories())


def test_a_run_without_failures_says_so(write, trajectory, ok):
    assert "None of 1 episodes failed." in ok("why", write("good", [trajectory(correct=True)]))


def test_it_is_said_where_success_is_a_return_or_is_not_known(write, trajectory, ok):
    text = ok(
        "why",
        write("mixed", [trajectory(False), trajectory(None, env_id="acme:Talk", group=1)]),
    )
    assert "top of the environment's range" in text
    assert "game:X-v0-easy" in text
    assert "1 episodes of acme:Talk are left out" in text


def test_a_narrow_terminal_shows_every_figure(run):
    source, _ = run_and_agent(str(run))
    console = Terminal(file=io.StringIO(), width=40, force_terminal=True)
    print_table(console, cells_of(failures_of(source.trajectories())))
    text = re.sub(r"\x1b\[[0-9;]*m", "", console.file.getvalue())
    assert max(map(len, text.splitlines())) <= 40
    for word in ("2 of 4", "50.0%", "#/episode/0-4"):
        assert word in text


@pytest.mark.slow
@pytest.mark.parametrize("form", ["table", "csv", "md"])
def test_an_ascii_output_shows_texts_of_any_language(write, trajectory, form):
    folder = write("one", [trajectory(False, grading=said("caf\u00e9 \x1b[31m", "\u0444"))])
    words = [sys.executable, "-m", "gem_core", "why", str(folder), "--format", form]
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    done = subprocess.run(words, env=env, check=True, capture_output=True)
    assert b"1 of 1" in done.stdout or b",wrong,1,1," in done.stdout
    assert b"caf" in done.stdout
    assert b"\x1b" not in done.stdout


def test_every_cause_has_a_column_and_is_described_once():
    assert len({rule.cause for rule in RULES}) == len(RULES)
    assert {"cause", "question", "expected", "extracted", "verdict", "reason"} <= set(
        EPISODE_COLUMNS
    )

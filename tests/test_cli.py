"""The command line, run as a user runs it."""

import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from typing import ClassVar

import pytest
from cli import gem, read_by_nobody
from click.testing import CliRunner
from commands import Command

import gem_core
from gem_core import BaseEnv, Step
from gem_core.cli.docstring import rendered
from gem_core.cli.play import command as play
from gem_core.console import Terminal
from gem_core.errors import ConfigError
from gem_rollout import read_trajectories

GUESS = "game:GuessTheNumber-v0-easy"


def ok(*words, **options):
    done = gem(*words, **options)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def test_help_names_every_command_with_examples():
    shown = ok("--help")
    for command in ("list", "show", "play", "run", "new", "check", "plugins"):
        assert f"\n  {command} " in shown
        assert "gem-core " + command in ok(command, "--help")


def test_help_of_run_is_short_and_names_the_command_that_lists_ids():
    shown = ok("run", "--help")
    assert "gem-core list" in shown
    assert "episodes=20" in shown
    assert max(map(len, shown.splitlines())) < 100
    assert "Sudoku-v0-hard-" not in shown


def test_version_prints_the_version():
    assert "0.1.0" in ok("--version")


def test_list_filters_and_has_a_line_for_each_environment():
    lines = ok("list", "game:GuessTheNumber*").splitlines()
    assert sum(line.startswith("game:GuessTheNumber") for line in lines) == 5
    assert not any("Sudoku" in line for line in lines)


def test_list_json_can_be_read_by_programs():
    (row,) = json.loads(ok("list", GUESS, "--format", "json"))
    assert row["id"] == GUESS
    assert row["kwargs"] == {"min_number": 1, "max_number": 10, "max_turns": 4}
    assert row["source"].startswith("gem-games")


def test_list_shows_other_kinds_than_environments():
    assert "episode_tracking" in ok("list", "--kind", "wrappers")
    assert "oracle" in ok("list", "--kind", "agents")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["list", "gmae:*"], "No environment matches 'gmae:*'. Did you mean 'game:*'"),
        (["list", "gmae:Sudoku*"], "Did you mean 'game:Sudoku*'?"),
        (["list", "Sudoku*"], "Did you mean '*:Sudoku*'?"),
        (["list", "game:Wrodle*"], "Did you mean 'game:Wordle-v0'"),
        (["list", "game:Wrodle", "--format", "json"], "Did you mean 'game:Wordle-v0'"),
        (["list", "nothing:*"], "There are: code:*, "),
        (["list", "clp:*", "--kind", "losses"], "No loss matches 'clp:*'. Did you mean 'clip'?"),
        (["list", "orcle", "--kind", "agents"], "Unknown agent 'orcle'. Did you mean 'oracle'"),
        (["list", "loses", "--kind", "kinds"], "No kind matches 'loses'. Did you mean 'losses'"),
        (["check", "gmae:*"], "Did you mean 'game:*'"),
        (["run", "envs=[gmae:*]"], "Did you mean 'game:*'"),
    ],
)
def test_a_pattern_or_id_that_matches_nothing_gets_near_ones_and_exit_status_1(words, said):
    done = gem(*words)
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr


def test_show_tells_parameters_rewards_and_an_example():
    shown = ok("show", GUESS)
    for part in ("max_turns", "Return of an episode: -0.1 to 1.0", "first observation", r"\boxed{"):
        assert part in shown
    assert "License: Apache-2.0" in shown
    described = json.loads(ok("show", GUESS, "--format", "json"))
    assert described["parameters"]["max_turns"] == 4
    assert described["metadata"]["license"] == "Apache-2.0"


DOCSTRING = """A summary with ``code`` and `more`.

    A paragraph that goes on over two
    lines, with **strong** and *other* words and :class:`Spec`::

        p = 2 ** 3

        q = `p`

    - one thing that goes on
      here
    - another

    Args:
        name: What it is, which is said here
            at some length.
        *others: None.
    """
SHOWN = """\
A summary with code and more.

A paragraph that goes on over two lines,
with strong and other words and Spec:

    p = 2 ** 3

    q = `p`

- one thing that goes on here
- another

Args:
    name     What it is, which is said
             here at some length.
    *others  None.
"""


def test_a_docstring_fills_the_width_and_its_markup_is_rendered():
    console = Terminal(file=io.StringIO(), width=40)
    console.print(rendered(DOCSTRING))
    assert re.sub(r" +$", "", console.file.getvalue(), flags=re.MULTILINE) == SHOWN
    console = Terminal(file=io.StringIO(), width=40, force_terminal=True, color_system="standard")
    console.print(rendered("Use ``code``."))
    assert console.file.getvalue() == "Use \x1b[36mcode\x1b[0m.\n"


def test_show_wraps_to_the_width_of_the_terminal():
    done = gem("show", "python", env={"COLUMNS": "60"})
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 60
    assert not any("`" in line for line in lines)
    at = next(at for at, line in enumerate(lines) if line.split()[:1] == ["sandbox"])
    assert lines[at + 1].startswith(" " * 26 + "with an id and arguments.")


def test_show_finds_what_is_not_an_environment():
    assert "repeat" in ok("show", "scripted")
    assert "repeat" in ok("show", "scripted", "--kind", "agents")
    assert "Did you mean 'scripted'" in gem("show", "scriptd").stderr
    assert "Add --kind suites or --kind wrappers" in gem("show", "tools").stderr


def test_the_kinds_themselves_are_listed():
    lines = ok("list", "--kind", "kinds", "a*").splitlines()
    assert lines[1].split() == ["agents", "agents", "that", "act", "in", "environments", "agent"]
    kinds = json.loads(ok("list", "--kind", "kinds", "--format", "json"))
    assert {"envs", "losses", "machines"} <= {kind["id"] for kind in kinds}
    done = gem("list", "--kind", "tool")
    assert done.returncode == 1
    assert "Unknown kind 'tool'. Did you mean 'tools'" in done.stderr


def test_an_unknown_id_gets_near_names_and_no_traceback():
    for args in (
        ("show", "game:GuessTheNumbr-v0-easy"),
        ("run", "env=game/GuessTheNumbr-v0-easy"),
        ("play", "game:GuessTheNumbr-v0-easy"),
        ("check", "game:GuessTheNumbr-v0-easy"),
    ):
        done = gem(*args)
        assert done.returncode == 1
        assert f"Did you mean {GUESS!r}" in done.stderr
        assert "Traceback" not in done.stderr


def test_every_listing_can_be_read_by_programs():
    (plugin,) = (p for p in json.loads(ok("plugins", "--format", "json")) if "games" in p["name"])
    assert plugin["state"] in {"loaded", "slow"}
    checked = json.loads(ok("check", GUESS, "--episodes", "2", "--format", "json"))
    assert checked["failed"] == 0
    assert checked["reports"][0]["subject"] == GUESS
    assert checked["reports"][0]["findings"] == []


def complete(*words):
    """Return what the shell is offered after the words, which bash has split at colons."""
    pieces = [piece for word in words for piece in re.findall(r"[:=]|[^:=]+|^$", word)]
    environ = {
        "COMP_WORDS": " ".join(["gem-core", *pieces]),
        "COMP_CWORD": str(len(pieces)),
        "_GEM_CORE_COMPLETE": "bash_complete",
    }
    return [line.removeprefix("plain,") for line in gem(env=environ).stdout.split()]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["sho"], ["show"]),
        (["show", "game:GuessTheNumber-v0-e"], ["GuessTheNumber-v0-easy"]),
        (["run", "game:GuessTheNumber-v0-e"], ["GuessTheNumber-v0-easy"]),
        (["run", GUESS, "agent=orac"], ["oracle"]),
        (["run", GUESS, "agent=[random,orac"], ["[random,oracle"]),
        (["run", GUESS, "ep"], ["episodes="]),
        (["run", GUESS, "env.min"], ["env.min_number="]),
        (["run", "agent=scripted", "agent.repeat=t"], ["true"]),
        (["eval", "progress=l"], ["live", "lines"]),
        (["show", "orac"], ["oracle"]),
        (["check", "gem-gam"], ["gem-games"]),
        (["run", "episodes="], []),
    ],
)
def test_the_shell_completes_commands_ids_and_keys(words, offered):
    assert complete(*words) == offered


def test_an_unknown_command_gets_a_near_name():
    done = gem("lst")
    assert done.returncode == 2
    assert "Did you mean 'list'?" in done.stderr


def test_a_game_can_be_played_over_a_pipe():
    shown = ok("play", GUESS, "--seed", "1", stdin="5\n:undo\n5\n:oracle\n:oracle\n:oracle\n")
    assert "you guessed 5" in shown
    assert "You win" in shown
    assert "Return: 1" in shown


def test_the_player_shows_its_help_again_without_a_turn():
    shown = ok("play", GUESS, "--seed", "1", stdin=":help\n")
    assert r"sent in \boxed{}" in shown
    assert ":undo" in shown
    assert "There is no command" not in shown


def test_the_end_of_the_input_leaves_the_game():
    assert "You left the episode with a return of 0" in ok("play", GUESS, stdin="11\n")


def test_unknown_words_to_the_player_cost_no_turn():
    shown = ok("play", GUESS, "--seed", "1", stdin=":orcale\n:quit\n")
    assert "There is no command ':orcale'" in shown


class Doors(BaseEnv):
    """Open the door with the gold; a person opens it by its number."""

    board_styles: ClassVar = {"gold": "bold yellow"}

    answer_instruction = "Write your choice as \\boxed{...}."

    def start(self):
        return "Doors: left, right.", {"suffix": "Open one:"}

    def step(self, action):
        return Step(f"You did {action}.", 1.0, True, False, {"suffix": "The end."})

    def sample_random_action(self):
        return r"\boxed{left}"

    @property
    def human_view(self):
        return self

    def screen(self, observation, info, width):
        return f"{observation} {info['suffix']} [1] left [2] right, in {width} columns"

    def typed(self, text):
        if text not in ("1", "2"):
            raise ConfigError(f"There is no door {text}.")
        return {"1": "left", "2": "right"}[text]


@pytest.fixture
def doors(monkeypatch):
    monkeypatch.setenv("COLUMNS", "70")
    if "test:Doors-v0" not in gem_core.list_envs("test:*"):
        gem_core.register("test:Doors-v0", Doors)
    return "test:Doors-v0"


def test_an_environment_decides_what_a_person_sees_and_types(doors):
    played = CliRunner().invoke(play, [doors], input="3\n2\n")
    assert played.exit_code == 0, played.output
    before, _, after = played.output.partition("There is no door 3.")
    assert before == "Doors: left, right. Open one: [1] left [2] right, in 70 columns\n"
    assert r"You did \boxed{right}. The end. [1] left" in after
    assert played.output.endswith("The episode has ended. Return: 1\n")


def test_a_whole_reply_and_raw_replies_are_what_an_agent_sends(doors):
    whole = CliRunner().invoke(play, [doors], input="I take \\boxed{left}\n").output
    assert r"You did I take \boxed{left}. The end. [1] left" in whole
    raw = CliRunner().invoke(play, [doors, "--raw"], input="2\n").output
    assert raw.startswith("Doors: left, right.\nOpen one:\nreward +1\nYou did 2.\nThe end.\n")


@pytest.mark.slow
def test_bytes_that_are_not_text_are_decoded_and_played():
    done = subprocess.run(
        [sys.executable, "-m", "gem_core", "play", GUESS],
        input=b"\xff\xfe\n",
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0
    assert b"no valid action" in done.stdout


@pytest.mark.slow
def test_a_full_disk_is_one_clear_line(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "trajectories.jsonl").symlink_to("/dev/full")
    done = gem("run", GUESS, "out=run", cwd=tmp_path)
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_plugin_can_add_a_command(install, plugins_in):
    plugins_in(install("commanding"))
    assert ok("hello", "you") == "Hello, you!\n"
    assert "\n  hello " in ok("--help")


@pytest.mark.slow
def test_a_pipe_that_breaks_elsewhere_is_an_error(install, plugins_in):
    plugins_in(install("commanding"))
    done = gem("hello", "a server that has gone")
    assert (done.returncode, done.stderr) == (1, "Error: [Errno 32] The server has gone\n")


@pytest.mark.slow
def test_a_game_can_be_played_at_a_terminal():
    child, descriptor = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-m", "gem_core", "play", GUESS, "--seed", "1"])
    seen = b""
    os.write(descriptor, b":oracle\n:oracle\n:oracle\n")
    try:
        while chunk := os.read(descriptor, 4096):
            seen += chunk
    except OSError:  # what Linux says at the end of a terminal
        pass
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert b"You win" in seen
    assert b":undo" in seen


def test_run_writes_trajectories_and_prints_a_table(tmp_path):
    out = tmp_path / "run"
    shown = ok(
        "run",
        GUESS,
        "agent=[oracle,random]",
        "episodes=6",
        f"out={out}",
        cwd=tmp_path,
    )
    trajectories = list(read_trajectories(out / "trajectories.jsonl"))
    assert len(trajectories) == 12
    assert {t.agent for t in trajectories} == {"oracle", "random"}
    assert all(t.episode_return == 1.0 for t in trajectories if t.agent == "oracle")
    assert "100%" in shown
    assert json.loads((out / "run.json").read_text())["agents"] == ["oracle", "random"]


@pytest.mark.slow
def test_run_without_out_makes_a_new_folder(tmp_path):
    ok("run", "env=game/GuessTheNumber-v0-easy", "episodes=2", cwd=tmp_path)
    (found,) = tmp_path.glob("runs/*/*/trajectories.jsonl")
    assert len(list(read_trajectories(found))) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "envs",
    [
        ["envs=game:GuessTheNumber-v0-*"],
        ["game:GuessTheNumber-v0-*"],
        [f"game:GuessTheNumber-v0-{end}" for end in ("easy", "hard", "random")]
        + ["game:GuessTheNumber-v0-hard-no-max-turn"],
    ],
)
def test_run_takes_ids_and_patterns_of_environments(tmp_path, envs):
    out = tmp_path / "run"
    ok(
        "run",
        *envs,
        "agent=oracle",
        "episodes=2",
        f"out={out}",
        cwd=tmp_path,
    )
    assert len({t.env_id for t in read_trajectories(out / "trajectories.jsonl")}) == 4


@pytest.mark.slow
def test_run_plays_scripts_and_mixtures_through_wrappers(tmp_path):
    out = tmp_path / "run"
    ok(
        "run",
        "+env@mixture.a=game/GuessTheNumber-v0-easy",
        "+env@mixture.b=game/GuessTheNumber-v0-hard",
        "wrappers=[concat,episode_tracking]",
        "agent=scripted",
        r"agent.scripted.actions=['\boxed{5}','\boxed{6}']",
        "episodes=5",
        f"out={out}",
        cwd=tmp_path,
    )
    trajectories = list(read_trajectories(out / "trajectories.jsonl"))
    assert [turn.action for turn in trajectories[0].turns][:1] == [r"\boxed{5}"]
    assert trajectories[0].turns[-1].info["step_counter"] == len(trajectories[0].turns)


@pytest.mark.slow
def test_run_only_adds_to_an_existing_run_with_resume(tmp_path):
    out = tmp_path / "run"
    args = ("run", "env=game/GuessTheNumber-v0-easy", "agent=random", f"out={out}")
    ok(*args, "episodes=4", cwd=tmp_path)
    first = (out / "trajectories.jsonl").read_text()
    done = gem(*args, "episodes=8", cwd=tmp_path)
    assert done.returncode == 1
    assert "resume=true" in done.stderr
    assert (out / "trajectories.jsonl").read_text() == first
    shown = ok(*args, "episodes=8", "resume=true", cwd=tmp_path)
    assert (out / "trajectories.jsonl").read_text().startswith(first)
    indices = [t.index for t in read_trajectories(out / "trajectories.jsonl")]
    assert indices == list(range(8))
    assert " 8 " in shown
    other_seed = gem(*args, "episodes=8", "seed=1", "resume=true", cwd=tmp_path)
    assert "another seed" in other_seed.stderr


@pytest.mark.slow
def test_wrong_values_are_one_clear_line(tmp_path):
    done = gem("run", "env=game/GuessTheNumber-v0-easy", "env.max_turns=many", cwd=tmp_path)
    assert done.returncode == 1
    assert "env.max_turns: Input should be a valid integer" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("override", "line"),
    [
        ("episodes=many", "episodes: Input should be a valid integer"),
        ("episodes=-3", "episodes: Input should be greater than or equal to 1"),
        ("progress=loud", "progress: Input should be 'auto', 'live', 'lines' or 'off'"),
        ("seed=-1", "seed: Input should be greater than or equal to 0"),
        ("epsodes=3", "There is no key 'epsodes'. Did you mean 'episodes'"),
        ("env.max_turn=3", "takes no argument 'max_turn'. Did you mean 'max_turns'"),
    ],
)
def test_a_wrong_key_or_value_is_one_clear_line(override, line, tmp_path):
    done = gem("run", "env=game/GuessTheNumber-v0-easy", override, cwd=tmp_path)
    assert done.returncode == 1
    assert line in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_ctrl_c_keeps_finished_episodes_and_says_how_to_continue(tmp_path):
    out = tmp_path / "run"
    process = Command(
        [
            sys.executable,
            "-m",
            "gem_core",
            "run",
            "env=game/GuessTheNumber-v0-easy",
            "episodes=10000000",
            f"out={out}",
            "--format=json",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    file = out / "trajectories.jsonl"
    while not (file.exists() and file.stat().st_size > 10000):
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    shown, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "resume=true" in errors
    assert "Traceback" not in errors
    indices = [trajectory.index for trajectory in read_trajectories(out / "trajectories.jsonl")]
    assert [row["episodes"] for row in json.loads(shown)["rows"]] == [len(indices)]
    assert indices == list(range(len(indices)))


def test_a_file_name_as_out_is_refused(tmp_path):
    done = gem("run", GUESS, "out=t.jsonl", cwd=tmp_path)
    assert done.returncode == 1
    assert "out is a folder" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_run_prints_json_alone_on_the_standard_output(tmp_path):
    shown = ok("run", GUESS, "agent=oracle", "episodes=2", "--format", "json", cwd=tmp_path)
    (row,) = json.loads(shown)["rows"]
    assert (row["environment"], row["episodes"], row["success"]) == (GUESS, 2, 1.0)


@pytest.mark.slow
def test_a_run_in_which_every_episode_failed_says_why_and_has_exit_status_1(tmp_path):
    done = gem("run", GUESS, "agent=scripted", "agent.actions=[1]", "episodes=3", cwd=tmp_path)
    assert done.returncode == 1
    assert "3 failed" in done.stdout
    assert "Every episode failed." in done.stderr
    assert "env (InvalidActionError), 3 episodes, for example: An action of" in done.stderr
    assert re.search(r"raised at \S+base.py:\d+ in \w+", done.stderr)
    (log,) = re.findall(r"The tracebacks are in (\S+)", done.stderr)
    assert "Traceback" in (tmp_path / log).read_text()


@pytest.mark.slow
def test_a_sweep_goes_on_after_a_run_that_failed(tmp_path):
    arguments = ("-m", GUESS, "env.max_turns=0,3", "agent=oracle", "episodes=1", "out=all")
    done = gem("run", *arguments, cwd=tmp_path)
    assert done.returncode == 1
    assert "max_turns" in done.stderr
    assert len(list(read_trajectories(tmp_path / "all" / "1" / "trajectories.jsonl"))) == 1


def test_check_prints_its_measurements():
    shown = ok("check", GUESS, "--episodes", "5")
    assert "ok" in shown
    assert "oracle 1.00" in shown


@pytest.mark.slow
def test_new_writes_a_plugin_with_its_name_filled_in(tmp_path):
    done = gem("new", "tick-tack", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "cd tick-tack\n  pip install --editable '.[dev]'\n" in done.stdout
    files = [one for one in (tmp_path / "tick-tack").rglob("*") if one.is_file()]
    assert tmp_path / "tick-tack" / "tick_tack" / "echo.py" in files
    assert not [one for one in files if "acme" in one.read_text() or "acme" in one.name]
    again = gem("new", "tick-tack", cwd=tmp_path)
    assert (again.returncode, "is there already" in again.stderr) == (1, True)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("Acme", "cannot be the name of a plugin"),
        ("a/b", "cannot be the name of a plugin"),
        ("class", "cannot be the name of a plugin"),
        ("game", "There are environments game:... already"),
        ("json", "There is a module 'json' already"),
    ],
)
def test_new_refuses_names_that_are_taken_or_impossible(name, line, tmp_path):
    done = gem("new", name, cwd=tmp_path)
    assert (done.returncode, [*tmp_path.iterdir()]) == (1, [])
    assert line in done.stderr


def test_plugins_lists_plugins_and_whether_they_are_selected():
    """The variable is read when plugins are loaded, which each process does once."""
    assert "gem-games" in ok("plugins")
    listed = subprocess.run(
        [sys.executable, "-m", "gem_core", "plugins", "--format", "json"],
        env={**os.environ, "GEM_PLUGINS": "gem-games"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    states = {plugin["name"]: plugin["state"] for plugin in json.loads(listed)}
    assert states["gem-games"] in {"loaded", "slow"}
    assert states["gem-math"] == "not selected"


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["list"],
        ["list", "--format", "json"],
        ["show", GUESS],
        ["run", GUESS, "agent=oracle", "episodes=2", "progress=off"],
    ],
)
def test_an_output_whose_reader_has_gone_is_no_error(words, tmp_path):
    done = read_by_nobody(*words, cwd=tmp_path)
    assert done.returncode == 141
    assert "Error" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("option", ["--seed", "--episodes"])
def test_numbers_out_of_range_are_refused(option):
    command = "show" if option == "--seed" else "check"
    done = gem(command, GUESS, option, "-1")
    assert done.returncode == 2


@pytest.mark.slow
def test_a_runs_folder_records_its_configuration(tmp_path):
    ok("run", "env=game/GuessTheNumber-v0-easy", "env.max_turns=3", "episodes=2", cwd=tmp_path)
    (folder,) = (path for path in (tmp_path / "runs").glob("*/*"))
    assert {path.name for path in folder.iterdir()} >= {"run.json", "trajectories.jsonl"}
    info = json.loads((folder / "run.json").read_text())
    assert info["config"]["env"]["max_turns"] == 3
    assert (info["envs"], info["agents"]) == ([GUESS], ["random"])

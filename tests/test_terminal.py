"""What the commands print: texts that others wrote, plugins that print, terminals of all kinds."""

import io
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli import gem
from rich.table import Table
from rich.text import Text

from gem_core.console import Terminal
from gem_core.options import message_of, print_json, visible
from gem_core.plugins import load_plugins
from gem_core.specs import load_entry_point

NASTY = "a\x1b[31mb\x1b]0;title\x07\rc\x08\u202ed\ud800"
SHOWN = r"a\x1b[31mb\x1b]0;title\x07\rc\x08\u202ed\ud800"


def test_characters_that_control_a_terminal_are_escaped():
    assert visible(NASTY) == SHOWN
    assert visible("two\nlines\tand é ☃") == "two\nlines\tand é ☃"


def test_brackets_survive_in_lines_tables_and_styled_texts(capsys):
    terminal = Terminal(width=200)
    for advice in ("pip install gem-tools[mcp]", "[red]a[/]", "a [/] b", ":smile:"):
        table = Table("heading")
        table.add_row(advice)
        terminal.print(advice)
        terminal.print(table)
        terminal.print(Text(advice, "red"))
        assert capsys.readouterr().out.count(advice) == 3


def test_lines_and_tables_do_not_control_the_terminal(capsys):
    terminal = Terminal(width=200, force_terminal=True, color_system=None)
    table = Table("heading")
    table.add_row(NASTY)
    terminal.print(NASTY)
    terminal.print(table)
    terminal.print(Text("x\x1b[31my\u202e"))
    shown = capsys.readouterr().out
    assert shown.count(SHOWN) == 2
    assert r"x\x1b[31my\u202e" in shown
    assert "\x1b" not in shown


def test_an_error_of_the_system_names_the_file_and_the_reason():
    with pytest.raises(OSError, match="No such file") as caught:
        open("/nope/x\x1b")  # noqa: PTH123, SIM115
    assert message_of(caught.value) == r"/nope/x\x1b: No such file or directory"


COMMANDS = [
    "list game:Sokoban*",
    "list --kind agents --long",
    "show game:Sokoban-v0-easy",
    "show game:Minesweeper-v0-easy --format json",
    "plugins",
    "--help",
    "run --help",
    "check game:GuessTheNumber-v0-easy --episodes 1",
    "show game:Sokobän☃\x1b",
    "show game:Sokob\udcc3\udca4n",  # as Python reads it in the locale C
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "terminal",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "20"},
    ],
    ids=["ascii", "C", "narrow"],
)
def test_terminals_of_any_encoding_and_width_show_what_every_command_prints(
    terminal, run_programs, subtests
):
    programs = [["gem_core", *command.split(" ")] for command in COMMANDS]
    for command, done in zip(COMMANDS, run_programs(programs, **terminal), strict=True):
        with subtests.test(command=ascii(command)):
            assert done.stdout + done.stderr
            assert b"Traceback" not in done.stderr
            assert b"\x1b" not in done.stdout + done.stderr
            assert done.returncode == (0 if command.isascii() else 1), done.stderr


@pytest.mark.slow
def test_a_full_disk_is_reported_in_one_line():
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(
            [sys.executable, "-m", "gem_core", "list"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.stderr == "Error: No space left on device\n"
    assert done.returncode == 1


@pytest.mark.slow
def test_what_a_plugin_prints_does_not_reach_the_standard_output(install):
    done = subprocess.run(
        [sys.executable, "-m", "gem_core", "plugins", "--format", "json"],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(install("chatty"))},
        check=True,
    )
    assert {status["name"] for status in json.loads(done.stdout)} >= {"chatty"}
    for line in (b"chatty: imported", b"chatty: below Python", b"chatty: registered"):
        assert line in done.stderr


JSON = {
    "list": ["noisy:*"],
    "show": ["noisy:Env"],
    "check": ["noisy:Env", "--episodes=1"],
    "run": ["noisy:Env", "agent=random", "episodes=2", "out=a"],
    "eval": ["noisy:Env", "agent=random", "episodes=2", "out=b"],
    "replay": ["b", "--out=c"],
    "compare": ["b", "c"],
}
"""Commands with the format json, and their further words."""


@pytest.mark.slow
def test_what_an_environment_prints_does_not_reach_the_results(
    install, tmp_path, run_programs, subtests
):
    """The standard output can be read by a script, whatever components print."""
    programs = [["gem_core", name, *words, "--format=json"] for name, words in JSON.items()]
    ran = run_programs(programs, cwd=tmp_path, PYTHONPATH=str(install("noisy")))
    for command, done in zip(JSON, ran, strict=True):
        with subtests.test(command=command):
            assert json.loads(done.stdout), done.stderr
            if command not in ("list", "compare"):
                for what in (b"made", b"another program", b"reset below Python", b"closed"):
                    assert b"noisy: " + what in done.stderr


@pytest.mark.slow
def test_what_is_printed_as_the_process_ends_does_not_reach_the_results(install, tmp_path):
    environ = {**os.environ, "PYTHONPATH": str(install("noisy"))}
    words = ["run", "noisy:Env", "env.until_exit=true", "agent=random", "episodes=1"]
    command = [sys.executable, "-m", "gem_core", *words, "--format=json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, env=environ, check=True)
    assert json.loads(done.stdout)["rows"][0]["return"] == 1.0
    for line in (b"noisy: exit\n", b"noisy: exit below Python\n", b"noisy: a buffer of C\n"):
        assert line in done.stderr


@pytest.mark.slow
def test_a_sweep_prints_one_line_of_json_for_each_run(install, tmp_path, run_programs):
    words = ["run", "-m", "noisy:Env", "agent=random", "episodes=1,2", "--format=json"]
    (done,) = run_programs([["gem_core", *words]], cwd=tmp_path, PYTHONPATH=str(install("noisy")))
    rows = [json.loads(line)["rows"][0] for line in done.stdout.splitlines()]
    assert [row["episodes"] for row in rows] == [1, 2]


@pytest.mark.slow
def test_an_error_leaves_the_standard_output_empty(install, tmp_path, run_programs, subtests):
    words = [["show", "noisy:Broken"], ["run", "noisy:Env", "agent=random", "agent.nope=1"]]
    programs = [["gem_core", *one, "--format=json"] for one in words]
    ran = run_programs(programs, cwd=tmp_path, PYTHONPATH=str(install("noisy")))
    for program, done in zip(programs, ran, strict=True):
        with subtests.test(command=program[1]):
            assert (done.stdout, done.returncode) == (b"", 1)
            assert b"Error: " in done.stderr


@pytest.mark.slow
def test_a_command_that_is_called_in_a_program_gives_its_streams_back(
    install, plugins_in, capfd, monkeypatch
):
    plugins_in(install("noisy"))
    monkeypatch.setenv("GEM_PLUGINS", "noisy,gem-rollout")
    done = gem("show", "noisy:Env", "--format=json")
    assert json.loads(done.stdout)["observation"] == "Say a word."
    os.write(1, b"after\n")
    printed = capfd.readouterr()
    assert printed.out == "after\n"
    assert "noisy: reset below Python" in printed.err


def test_numbers_that_json_does_not_have_are_null(capsys):
    print_json({"low": -math.inf, "all": [1.5, (math.nan,)], "other": Path("a")})
    assert json.loads(capsys.readouterr().out) == {
        "low": None,
        "all": [1.5, [None]],
        "other": "a",
    }


@pytest.mark.slow
def test_a_module_that_takes_long_to_import_is_named(tmp_path, monkeypatch):
    """An entry point is imported when it is used, long after its plugin was loaded."""
    (tmp_path / "waits_long.py").write_text(
        "import sys, time\n"
        "while 'still being imported' not in sys.stderr.getvalue():\n"
        "    time.sleep(0.01)\n"
        "found = 1\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("gem_core.modules.NOTICE_SECONDS", 0.1)
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert load_entry_point("waits_long:found") == 1
    assert "The module 'waits_long' is still being imported" in sys.stderr.getvalue()


@pytest.mark.slow
def test_a_plugin_that_takes_long_to_load_is_named(install, plugins_in, monkeypatch):
    plugins_in(install("hanging"))
    monkeypatch.setenv("GEM_PLUGINS", "hanging")
    monkeypatch.setattr("gem_core.plugins.NOTICE_SECONDS", 0.1)
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert "hanging" in {one.name for one in load_plugins().statuses if one.state != "broken"}
    assert "The plugin 'hanging' of hanging 1.0 (hanging) is still loading" in sys.stderr.getvalue()

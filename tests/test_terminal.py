"""What the commands print: texts that others wrote, plugins that print, terminals of all kinds."""

import io
import json
import os
import subprocess
import sys

import pytest
from rich.table import Table
from rich.text import Text

from gem_core.console import Terminal
from gem_core.options import message_of, visible
from gem_core.specs import load_entry_point

NASTY = "a\x1b[31mb\x1b]0;title\x07\rc\x08\u202ed\ud800"
SHOWN = r"a\x1b[31mb\x1b]0;title\x07\rc\x08\u202ed\ud800"


def gem(*args, **environ):
    return subprocess.run(
        [sys.executable, "-m", "gem_core", *args],
        capture_output=True,
        env={**os.environ, **environ},
        check=False,
    )


def test_what_controls_a_terminal_is_shown():
    assert visible(NASTY) == SHOWN
    assert visible("two\nlines\tand é ☃") == "two\nlines\tand é ☃"


@pytest.mark.parametrize(
    "advice", ["pip install gem-tools[mcp]", "[red]a[/]", "a [/] b", ":smile:"]
)
def test_brackets_survive_in_lines_tables_and_styled_texts(advice, capsys):
    terminal = Terminal(width=200)
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


@pytest.mark.parametrize(
    "args",
    [
        ["list", "game:Sokoban*"],
        ["list", "--kind", "agents", "--long"],
        ["show", "game:Sokoban-v0-easy"],
        ["show", "game:Minesweeper-v0-easy", "--format", "json"],
        ["plugins"],
        ["--help"],
        ["run", "--help"],
        ["check", "game:GuessTheNumber-v0-easy", "--episodes", "1"],
        ["show", "game:Sokobän☃\x1b"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize(
    "terminal",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "20"},
    ],
    ids=["ascii", "C", "narrow"],
)
def test_every_terminal_can_show_it(args, terminal):
    done = gem(*args, **terminal)
    assert b"Traceback" not in done.stderr
    assert b"\x1b" not in done.stdout + done.stderr
    assert done.returncode == (1 if "☃" in args[-1] else 0), done.stderr


def test_a_full_disk_is_one_line():
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


def test_what_a_plugin_prints_does_not_reach_the_standard_output(install):
    done = gem("plugins", "--format", "json", PYTHONPATH=str(install("chatty")))
    assert {status["name"] for status in json.loads(done.stdout)} >= {"chatty"}
    for line in (b"chatty: imported", b"chatty: below Python", b"chatty: registered"):
        assert line in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        ["show", "noisy:Env"],
        ["check", "noisy:Env", "--episodes=1"],
        ["run", "noisy:Env", "agent=random", "episodes=2", "out=run"],
        ["eval", "noisy:Env", "agent=random", "episodes=2", "out=run"],
    ],
    ids=lambda command: command[0],
)
def test_what_an_environment_prints_does_not_reach_the_results(
    install, tmp_path, monkeypatch, command
):
    """The standard output can be read by a script, whatever components print."""
    monkeypatch.chdir(tmp_path)
    done = gem(*command, "--format=json", PYTHONPATH=str(install("noisy")))
    assert json.loads(done.stdout)
    for what in (b"noisy: made", b"noisy: another program", b"noisy: reset below Python"):
        assert what in done.stderr


def test_a_module_that_takes_long_to_import_is_named(tmp_path, monkeypatch):
    """An entry point is imported when it is used, long after its plugin was loaded."""
    (tmp_path / "waits_long.py").write_text(
        "import sys, time\n"
        "while 'still being imported' not in sys.stderr.getvalue():\n"
        "    time.sleep(0.01)\n"
        "found = 1\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("gem_core.specs.NOTICE_SECONDS", 0.1)
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert load_entry_point("waits_long:found") == 1
    assert "The module 'waits_long' is still being imported" in sys.stderr.getvalue()


def test_a_plugin_that_takes_long_to_load_is_named(install):
    done = gem("--version", PYTHONPATH=str(install("hanging")))
    assert b"The plugin 'hanging' of hanging 1.0 (hanging) is still loading" in done.stderr
    assert done.stdout.startswith(b"gem-core")

"""Commands of third parties that Hydra configures."""

import io

import pytest
from pydantic import Field
from rich.console import Console
from selection import some, thorough

from gem_core.errors import ConfigError
from gem_rollout.commands import CommandKeys, HydraCommand, Job, env_factories, progress

GUESS = "game:GuessTheNumber-v0-easy"


class Keys(CommandKeys):
    """The keys of a command."""

    size: int = Field(default=3, ge=1)
    """How large it is."""
    name: str = Field(default="x")
    """Its name."""
    out: str = "folder"
    """The folder to write to."""


def invoke(function, *words):
    command = HydraCommand("test", function, Keys, agents=None, examples=["gem-core test X"])
    return command.main(list(words), prog_name="gem-core test", standalone_mode=False)


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["gem-core"])


@pytest.mark.slow
def test_a_function_is_given_its_keys_the_environments_and_a_folder(tmp_path):
    jobs: list[Job] = []
    words = [GUESS, "env.max_turns=7", "size=5", "name=12", "--format", "json"]
    invoke(jobs.append, *words)
    (job,) = jobs
    assert job.keys == Keys(size=5, name="12")
    assert job.form == "json"
    assert job.folder == tmp_path / "folder"
    assert job.command == ["gem-core", "test", *job.words]
    (make_env,) = env_factories(job.config)
    assert make_env.spec.kwargs["max_turns"] == 7


@pytest.mark.slow
def test_a_run_records_the_text_of_a_file_and_not_its_name(tmp_path):
    jobs: list[Job] = []
    file, text = tmp_path / "name.txt", "It's ${size}, a \\ and\nmore"
    file.write_text(text)
    invoke(jobs.append, "name=@name.txt")
    file.unlink()
    invoke(jobs.append, *jobs[0].words)
    assert [(job.keys.name, job.config["name"]) for job in jobs] == [(text, text)] * 2


def test_help_shows_the_keys_with_their_defaults_and_the_examples(capsys):
    invoke(print, "--help")
    shown = capsys.readouterr().out
    assert "size=3" in shown
    assert "How large it is." in shown
    assert "gem-core test X" in shown
    assert "agent=" not in shown


@pytest.mark.slow
@pytest.mark.parametrize("error", [ConfigError("It is wrong."), OSError("It is wrong.")])
def test_a_known_error_prints_one_message_and_gives_exit_status_1(error, capsys):
    def fail(job):
        raise error

    assert invoke(fail, GUESS) == 1
    assert capsys.readouterr().err == "Error: It is wrong.\n"


@pytest.mark.slow
def test_a_command_ends_with_the_exit_status_that_its_function_returns():
    assert invoke(lambda job: 7, GUESS) == 7


@pytest.mark.slow
def test_an_invalid_value_is_named_in_the_error(capsys):
    assert invoke(print, GUESS, "size=0") == 1
    shown = capsys.readouterr().err
    assert "size: Input should be greater than or equal to 1; got 0" in shown


@pytest.mark.slow
def test_ctrl_c_ends_a_command_with_exit_status_130(capsys):
    def interrupt(job):
        raise KeyboardInterrupt

    with pytest.raises(SystemExit) as caught:
        invoke(interrupt, GUESS)
    assert caught.value.code == 130
    assert capsys.readouterr().err == "Interrupted.\n"


@pytest.mark.slow
def test_each_run_of_a_sweep_has_its_folder(tmp_path):
    jobs: list[Job] = []
    invoke(jobs.append, "-m", GUESS, "size=1,2")
    assert [job.keys.size for job in jobs] == [1, 2]
    assert [job.folder for job in jobs] == [tmp_path / "folder" / "0", tmp_path / "folder" / "1"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", some(["file/inside", "dangling", "/proc/x", "/dev/full", "", "long"])
)
def test_a_folder_that_cannot_be_made_is_an_error_of_one_line(name, tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere" / "deeper")
    with pytest.raises((ConfigError, OSError)) as caught:
        invoke(print, GUESS, f"out={'a' * 5000 if name == 'long' else name}")
    assert "\n" not in str(caught.value)


def test_a_nul_in_the_folder_is_an_error():
    with pytest.raises(ConfigError, match="not the name of a folder"):
        invoke(print, GUESS, "out='a\0b'")


@pytest.mark.parametrize("word", ["wrappers=[concat,concat]", "tools=[python,search,python]"])
def test_an_id_that_is_given_twice_is_an_error(word):
    with pytest.raises(ConfigError, match="is there twice"):
        invoke(print, GUESS, word)


@pytest.mark.slow
def test_options_that_hydra_refuses_are_errors_of_the_configuration(capsys):
    for words in (["-m", "--cfg", "job"], ["--config-dir", "/nowhere"]):
        with pytest.raises(ConfigError):
            invoke(print, GUESS, *words)


@pytest.mark.slow
def test_a_value_that_is_nested_too_deeply_is_an_error():
    with pytest.raises(ConfigError, match="cannot be parsed"):
        invoke(print, GUESS, f"name={'[' * (20_000 if thorough() else 1_200)}")


@pytest.mark.parametrize(
    ("mode", "shown"),
    [("lines", "playing 3/5\nplaying 5/5\n"), ("auto", "playing 3/5\nplaying 5/5\n"), ("off", "")],
)
def test_a_bar_is_shown_as_lines_where_there_is_no_terminal(mode, shown, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0)
    console = Console(file=io.StringIO())
    with progress.ProgressBar(console, mode, 5, "playing") as bar:
        bar.update(advance=3)
        bar.update(completed=5)
    assert console.file.getvalue() == shown


def test_a_bar_is_live_at_a_terminal_and_disappears():
    console = Console(file=io.StringIO(), force_terminal=True, width=80)
    with progress.ProgressBar(console, "auto", 5) as bar:
        bar.update(description="playing", advance=3)
    assert "playing" in console.file.getvalue()
    assert console.file.getvalue().endswith("\x1b[2K")


@pytest.mark.slow
def test_a_defect_prints_a_traceback_without_secrets(capsys):
    def fail(job):
        raise RuntimeError(f"It has {job.keys.name}.")

    with pytest.raises(SystemExit) as caught:
        invoke(fail, GUESS, "name='https://me:planted@host'")
    shown = capsys.readouterr().err
    assert caught.value.code == 1
    assert "RuntimeError: It has https://(hidden)@host." in shown
    assert "planted" not in shown

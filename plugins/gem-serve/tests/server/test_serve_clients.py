"""Clients without our packages, the class for NeMo-Gym, and the command itself."""

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gem_core import make
from gem_core.errors import ConfigError, GemError, UnknownIdError
from gem_core.plugins import default_registry
from gem_core.specs import COMMANDS
from gem_serve.remote.openenv import RemoteEnvironment, TextAction
from gem_serve.server.command import command, factories_of

Serve = Callable[..., Any]
GAME = "conformance:Game"
EXAMPLE = Path(__file__).parents[4] / "examples" / "remote_client.py"


def old_python() -> str:
    """Return a Python 3.10, which gem-core does not support; skip if there is none."""
    found = shutil.which("python3.10")
    folders = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    candidates = [found, *map(str, sorted(folders.glob("3.10*/bin/python")))]
    for python in filter(None, candidates):
        check = [python, "-c", "import sys; sys.exit(sys.version_info[:2] != (3, 10))"]
        if subprocess.run(check, capture_output=True, check=False).returncode == 0:
            return str(python)
    pytest.skip("there is no Python 3.10 (python3.10, or one of pyenv)")


@pytest.mark.slow
def test_python_3_10_without_our_packages_plays_episodes_equal_to_local(serve: Serve) -> None:
    running = serve(GAME)
    arguments = [str(EXAMPLE), running.address, GAME, "--episodes", "16", "--concurrency", "16"]
    done = subprocess.run(
        [old_python(), "-I", "-S", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    episodes = [json.loads(line) for line in done.stdout.splitlines()]
    assert [episode["seed"] for episode in episodes] == list(range(16))
    for episode in episodes:
        with make(GAME) as env:
            env.reset(seed=episode["seed"])
            assert [env.step(action).reward for action in episode["actions"]] == episode["rewards"]
    assert len(running.server.sessions) == 0


def test_another_server_at_the_same_address_is_asked_what_it_has(serve: Serve) -> None:
    first = serve("coin")
    with make(f"remote:{first.address}/coin") as env:
        env.reset(seed=1)
    first.stop()
    second = serve(GAME, port=first.port)
    with pytest.raises(UnknownIdError, match=f"It has: {GAME}"):
        make(f"remote:{second.address}/coin")
    with make(f"remote:{second.address}/{GAME}") as env:
        env.reset(seed=1)


def nemo_gym(env_class: Any, action_class: Any, body: dict[str, Any]) -> Any:
    """Do what NeMo-Gym's ``openenv`` resources server does, in an event loop as there."""

    async def handle() -> Any:
        env = env_class()
        first = env.reset(seed=3)
        assert (first.reward, first.done) == (None, False)
        found = env.step(action_class(**body))
        env.close()
        return found.model_dump()

    return asyncio.run(handle())


def test_nemo_gym_can_import_an_environment_of_a_server(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = serve(GAME)
    monkeypatch.setenv("GEM_REMOTE_ENV", f"remote:{running.address}/{GAME}")
    there = nemo_gym(RemoteEnvironment, TextAction, {"text": "5"})
    monkeypatch.setenv("GEM_REMOTE_ENV", GAME)
    assert nemo_gym(RemoteEnvironment, TextAction, {"text": "5"}) == there
    assert there["text"].startswith("Turn 1: 6 points for 5")
    monkeypatch.delenv("GEM_REMOTE_ENV")
    with pytest.raises(ConfigError, match="GEM_REMOTE_ENV"):
        RemoteEnvironment()


@pytest.mark.slow
def test_the_command_serves_until_sigterm_and_says_how_it_ended() -> None:
    # A process of its own, as signals and the exit status are what is tested.
    arguments = ["-m", "gem_core", "serve", GAME, "--port", "0", "--drain", "0"]
    with subprocess.Popen(
        [sys.executable, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            line = process.stdout.readline()
            found = re.fullmatch(r"Serving 1 environment at http://(127\.0\.0\.1:\d+)\n", line)
            assert found, line + process.stderr.read()
            env = make(f"remote:{found[1]}/{GAME}")
            env.reset(seed=1)
            process.send_signal(signal.SIGTERM)
            errors = process.stderr.read()
        finally:
            process.kill()
    assert "Ending when 1 episodes have ended, in at most 0 s." in errors
    assert "1 episodes were cut off" in errors
    assert process.returncode == 1
    env.close()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (["game:Wordel-v0-easy"], UnknownIdError, "Did you mean"),
        (["search"], UnknownIdError, "gem-core serve-search"),
        ([GAME, GAME], ConfigError, "Two environments"),
        (["a={id: conformance:Game, labels: x}"], GemError, "label"),
        (["a={no: 1}"], ConfigError, "needs an id"),
        ([GAME, "--tool", "pyton"], GemError, "pyton"),
        ([GAME, "--host", "::"], ConfigError, "--token"),
        ([GAME, "--secret-file", os.devnull], ConfigError, "at least 16 bytes"),
    ],
)
def test_a_mistake_is_named_before_the_server_listens(
    arguments: list[str],
    error: type[Exception],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("GEM_SERVE_TOKEN", raising=False)
    done = CliRunner().invoke(command, arguments)
    assert isinstance(done.exception, error)
    assert re.search(message, str(done.exception))


def test_arguments_of_the_command_name_environments_and_set_their_parameters_and_wrappers() -> None:
    made = factories_of(
        [GAME, "mine={id: conformance:Game, label: 'of mine'}"], tools=[], wrappers=["concat"]
    )
    assert list(made) == [GAME, "mine"]
    observation, _ = made["mine"]().reset(seed=1)
    assert "of mine" in observation
    assert [len(factory.wrappers) for factory in made.values()] == [1, 1]


def test_the_help_of_the_command_shows_examples() -> None:
    done = CliRunner().invoke(command, ["--help"])
    assert "gem-core serve game:Wordle-v0-easy" in done.output
    assert default_registry().find(COMMANDS, "serve").load() is command

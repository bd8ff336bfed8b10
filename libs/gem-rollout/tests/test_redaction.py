"""Secrets: where they are found, and that no file of a run holds one."""

import contextlib

import pytest

from gem_core import BaseAgent
from gem_core.errors import ConfigError, DuplicateIdError
from gem_core.plugins import default_registry
from gem_core.specs import AgentSpec
from gem_rollout import Trajectory, TrajectoryFile
from gem_rollout.redaction import (
    HIDDEN,
    hide,
    redact,
    redact_words,
    remembered,
    secrets_in,
)
from gem_rollout.run_command import command

S = "Zq7-planted/XY"

BY_KEY = [
    "api_key",
    "API-KEY",
    "apiKey",
    "openaiApiKey",
    "key",
    "token",
    "access_token",
    "accessTokens",
    "HF_TOKEN",
    "secret",
    "client-secret",
    "password",
    "passwd",
    "pwd",
    "db_pass",
    "DB_PASS",
    "dbPass",
    "passphrase",
    "auth",
    "Authorization",
    "oauth",
    "cookie",
    "cookies",
    "credential",
    "credentials",
    "creds",
    "bearer",
    "session",
    "session_id",
    "private",
    "privateKey",
    "private-key",
    "signing_key",
    "encryption.key",
    "jwt",
    "webhook_url",
    "sentry_dsn",
    "x-api-key",
    "pw",
    "pat",
    "sig",
    "request_signature",
    "headers",
    "default_headers",
]
SHAPED = [
    {"url": f"https://user:{S}@host/x"},
    {"url": "https://planted@host/x"},
    {"url": f"https://host/x?a={S}&b=1"},
    {"url": f"https://host/x#access_token={S}"},
    {"url": f"postgres://user:{S}@db/x"},
    {"url": "redis://:planted@db"},
    {"proxy": "user:planted@proxy:8080"},
    {"args": ["--api-key", S]},
    {"args": [f"--token={S}"]},
    {"args": ["-H", f"Authorization: Bearer {S}"]},
    {"args": ["-H", f"X-Anything: {S}"]},
    {"args": [f"--header=X-Anything: {S}"]},
    {"args": ["-e", f"ANYTHING={S}"]},
    {"args": ["-u", f"me:{S}"]},
    {"args": [f"API_KEY={S}"]},
    {"command": f"server --api-key {S} --port 3"},
    {"command": f'server --api-key="{S}"'},
    {"command": f"curl -H 'Authorization: Bearer {S}' http://host"},
    {"command": f"API_TOKEN={S} server"},
    {"body": f'{{"api_key": "{S}"}}'},
    {"body": f'{{\\"api_key\\": \\"{S}\\"}}'},
    {"text": f"Cookie: a=b; c={S}"},
    {"text": f"x-api-key: {S}"},
    {"text": f"Bearer {S}"},
    {"pairs": [{"name": "API_KEY", "value": S}]},
    {"pair": ["Authorization", S]},
    {"servers": {"a": {"env": {"ANYTHING": S}}}},
    {"servers": {"a": {"env": [f"ANYTHING={S}"]}}},
    {"servers": {"a": {"environment": {"ANYTHING": S}}}},
    {"servers": [{"headers": [["X-Anything", S]]}]},
    {"servers": {"a": {"extra_env": {"ANYTHING": S}}}},
    {"servers": {"a": {"env_vars": {"ANYTHING": S}}}},
    {"pairs": [{"key": "API_KEY", "value": S}, {"var": "TOKEN", "val": S}]},
    {"args": [f"-eANYTHING={S}"]},
    {"proxy": "//user:planted@proxy:8080"},
    {"password": 12345678, "planted": 12345678},
    {"text": "sk-proj-planted1DEF"},
    {"text": "say ghp_planted123456 twice"},
    {"text": "hf_plantedCdEfG12"},
    {"text": "AKIAPLANTED0FODNN7EX"},
    {"text": "eyJplanted.eyJzdWIiOi.SflKxw"},
    {"text": "xoxb-123-planted"},
    {"text": "https://hooks.slack.com/services/T0/B0/planted"},
    {"text": "-----BEGIN RSA PRIVATE KEY-----\nplanted\n-----END RSA PRIVATE KEY-----"},
]
KEPT = [
    {"max_tokens": 5, "max_new_tokens": "512", "stop_token_ids": [1, 2]},
    {"answer_key": "answer", "question_key": "q", "primary-key": "id"},
    {"tokenizer": "Qwen/Qwen3-0.6B", "eos_token": "</s>", "author": "A B", "keywords": ["a"]},
    {"api_key_env": "OPENAI_API_KEY", "api_key": "${oc.env:OPENAI_API_KEY}"},
    {"env": {"id": "game:Sudoku-v0", "size": 4}},
    {"use_auth": True, "token": None, "private": False, "secret": ""},
    {"system_prompt": "Give the answer key: then stop. Token: x"},
    {"url": "https://host:8080/v1", "repo": "git@github.com:a/b.git", "at": "12:30:15"},
    {"tools": {"python_session": {"id": "python_session", "sandbox": "process"}}},
    {"train_env": {"size": 4}, "path": "a/b", "sigma": 0.5, "patience": "3"},
    {"args": ["-eval", "-end=3", "--extra", "x"]},
    {"text": "task-skip-reason sk-learn https://host/x@v1"},
]


def test_the_value_of_a_key_that_sounds_secret_is_hidden(subtests):
    for key in BY_KEY:
        with subtests.test(key):
            assert redact({"a": [{key: S}]}) == {"a": [{key: HIDDEN}]}
            assert redact({key: {"x": [S]}}) == {key: {"x": [HIDDEN]}}
            assert redact_words([f"+agent.openai.{key}='{S}'"]) == [f"+agent.openai.{key}={HIDDEN}"]


def test_a_secret_is_found_by_its_place_or_its_form(subtests):
    for config in SHAPED:
        with subtests.test(str(config)):
            shown = redact(config)
            text = repr({key: value for key, value in shown.items() if key != "planted"}).lower()
            assert "planted" not in text.replace("'planted'", "")
            assert "12345678" not in text
            assert redact(shown) == shown
            assert "planted" in "".join(secrets_in(config)).lower() or "planted" in config


def test_a_value_that_is_no_secret_is_kept(subtests):
    for config in KEPT:
        with subtests.test(str(config)):
            assert redact(config) == config


@pytest.mark.parametrize(
    "word",
    [
        f"+tools.mcp.config={{a: {{env: {{FOO: '{S}'}}}}}}",
        f"agent.openai.extra_body={{user: {{api_key: '{S}'}}}}",
        f"agent.openai.api_key='{S}',other",
        f"tools.mcp.config.env.ANYTHING='{S}'",
        f"tools.mcp.config=[server,--token,'{S}']",
        f"agent.openai.api_key='{S}",
    ],
)
def test_the_values_within_an_override_are_hidden(word):
    (shown,) = redact_words([word])
    assert S not in shown
    assert shown.partition("=")[0] == word.partition("=")[0]


@pytest.mark.parametrize(
    "word",
    ["env.level=2", "env=game/Wordle-v0", "agent=[oracle,random]", "seed=0,1", "out=runs/a", "-m"],
)
def test_other_words_are_recorded_as_they_were_typed(word):
    assert redact_words([word]) == [word]


def test_a_secret_that_is_known_is_hidden_in_any_text(monkeypatch):
    monkeypatch.setenv("SERVICE_TOKEN", "from-the-environment-1")
    with remembered(secrets_in({"headers": {"a": S}})):
        assert hide(f"It said: {S}!") == f"It said: {HIDDEN}!"
    assert S in hide(S)
    assert hide("x from-the-environment-1") == f"x {HIDDEN}"


def test_a_trajectory_holds_no_known_secret(tmp_path):
    known = 'quo"té-1'
    trajectory = Trajectory("game:X", "agent", 0, 1, final_observation=f"see {known}")
    with remembered([known]), TrajectoryFile(tmp_path / "a.jsonl") as file:
        file.append(trajectory)
    assert (tmp_path / "a.jsonl").read_text().count(HIDDEN) == 1
    assert known in trajectory.final_observation


class Quoting(BaseAgent):
    """Fails with an error that quotes everything it was given."""

    def __init__(self, *, api_key: str = "", base_url: str = "", extra: dict | None = None) -> None:
        self._given = f"{api_key} {base_url} {extra}"

    def act(self, observation, info):
        raise ConnectionError(f"The endpoint refused {self._given}.")


@pytest.fixture
def _quoting(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["gem-core"])
    with contextlib.suppress(DuplicateIdError):  # by an earlier test
        default_registry().add(AgentSpec(id="quoting", entry_point=Quoting))


WORDS = [
    "game:GuessTheNumber-v0-easy",
    "agent=quoting",
    "agent.api_key=planted-a1",
    "agent.base_url='https://me:planted-b2@host/x?k=planted-c3'",
    "agent.extra={headers: {X-Any: planted-d4}, args: ['--token=planted-e5']}",
    "episodes=1",
]


@pytest.mark.slow
@pytest.mark.usefixtures("_quoting")
@pytest.mark.parametrize("more", [[], ["-m", "seed=0"]])
def test_no_file_of_a_run_and_no_message_holds_a_secret(more, tmp_path, capfd):
    command.main([*more, *WORDS, "out=mine"], prog_name="gem-core run", standalone_mode=False)
    files = [path for path in (tmp_path / "mine").rglob("*") if path.is_file()]
    assert {"run.json", "trajectories.jsonl"} <= {path.name for path in files}
    for path in files:
        assert "planted" not in path.read_text()
        assert path.stat().st_mode & 0o077 == 0, path
    shown = "".join(capfd.readouterr())
    assert "The endpoint refused" in shown
    assert "planted" not in shown


@pytest.mark.slow
@pytest.mark.usefixtures("_quoting")
@pytest.mark.parametrize("more", [[], ["-m", "seed=0"]])
def test_a_run_with_a_users_own_configuration_leaves_no_secret_behind(more, tmp_path):
    (tmp_path / "mine.yaml").write_text(
        "defaults: [_self_, {env: game/GuessTheNumber-v0-easy}, {agent: [quoting]}]\n"
        "episodes: 1\nseed: 0\nout: mine\n"
    )
    words = [*more, "--config-dir", ".", "--config-name", "mine"]
    word = "agent.quoting.base_url='https://me:planted-b2@host'"
    command.main([*words, word], prog_name="gem-core run", standalone_mode=False)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert "run.json" in {path.name for path in files}
    assert not [path for path in files if "planted" in path.read_text()]


@pytest.mark.slow
@pytest.mark.usefixtures("_quoting")
@pytest.mark.parametrize(
    "flags",
    [
        ["--cfg", "job"],
        ["--cfg", "all"],
        ["--cfg", "job", "--package", "agent.quoting"],
        ["--cfg", "job", "--package", "agent.quoting.api_key"],
        ["--info", "all"],
    ],
)
def test_the_printed_configuration_holds_no_secret(flags, capfd):
    with contextlib.suppress(SystemExit):
        command.main([*flags, *WORDS], prog_name="gem-core run", standalone_mode=False)
    shown = capfd.readouterr().out
    assert "planted" not in shown
    assert HIDDEN in shown


@pytest.mark.slow
@pytest.mark.usefixtures("_quoting")
@pytest.mark.parametrize("word", ["agent.api_key=[", "agent.extra={api_key: [", "+x='{token: "])
def test_an_override_that_cannot_be_read_is_quoted_without_secrets(word, capfd):
    text = f"{word}planted-f6"
    with pytest.raises(ConfigError) as caught:
        command.main([*WORDS, text], prog_name="gem-core run", standalone_mode=False)
    assert "planted" not in str(caught.value)
    assert "cannot be parsed" in str(caught.value)

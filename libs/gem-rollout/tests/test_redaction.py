"""Secrets: what is one, that no configuration shows one, and that records are never changed."""

import contextlib
import json
import shlex
from collections.abc import Mapping
from typing import Annotated, Any

import pydantic
import pytest
from cli import gem
from hypothesis import given, settings
from hypothesis import strategies as st
from needs import needs
from selection import thorough

from gem_core import BaseAgent, BaseEnv, EnvSpec, Secret, Step
from gem_core.config import parameter_types
from gem_core.errors import ConfigError
from gem_core.plugins import default_registry
from gem_core.secret import SecretParts
from gem_core.specs import (
    AGENTS,
    ENVS,
    EXECUTORS,
    TOOLS,
    WRAPPERS,
    AgentSpec,
)
from gem_rollout import Trajectory, TrajectoryFile, Turn, read_trajectories
from gem_rollout.commands import CommandKeys, HydraCommand
from gem_rollout.records.redaction import (
    HIDDEN,
    declared_by,
    hide,
    redact,
    redact_words,
    remembered,
    secrets_in,
    with_hidden,
)
from gem_rollout.records.runs import Run

EXAMPLES = 200 if thorough() else 50
S = "Zq7-planted/XY"

SECRET_KEYS = [
    *("password", "db_password", "DB_PASSWD", "passwordHash", "secret", "client-secret"),
    *("secret_word", "credential", "credentials", "googleCredentials", "Authorization"),
    *("Proxy-Authorization", "token", "access_token", "HF_TOKEN", "authToken", "x.token", "token2"),
    *("cookie", "Set-Cookie", "api_key", "API-KEY", "apiKey", "APIKey", "openaiApiKey", "apikey"),
    *("x-api-key", "access_key", "private_key", "secretKey", "auth_key", "encryption_key"),
    *("signing-key", "AWS_SECRET_ACCESS_KEY", "api_key_2"),
]
ORDINARY_KEYS = [
    *("turkey", "whiskey", "hockey_team", "monkey", "keyboard", "key", "keys", "author_key"),
    *("answer_key", "primary-key", "sortKey", "tokenizer", "tokens", "max_tokens", "token_ids"),
    *("eos_token", "padToken", "cost_per_token", "max_token", "token_count", "token_limit"),
    *("secretary", "secretion", "passwords", "passenger", "compass", "cookies", "cookie_name"),
    *("api_key_env", "apiKeyEnv", "password_file", "secret_path", "token_url", "access_key_id"),
    *("authorizations", "author", "auth", "session", "private", "signature", "answer_instruction"),
    "What is the secret?",
]
TEXTS = [
    'Fortune cookie: Sam said "cookie: 5". Author_key: a7. Answer with secret: NAME',
    "password=swordfish is what the guard says",
    "Authorization: Bearer abcdefgh12345678",
    "sk-proj-abcdefgh1DEF ghp_abcdefgh123456 AKIAABCDEF0FODNN7EX eyJhbGciOi.eyJzdWIiOi.SflKxw",
    "gem --api-key 12345678 --token=12345678",
    "me:word@host, git@github.com:a/b.git, http://host:8080/v1@2?q=token&tokens=3#password",
    "-----BEGIN RSA PRIVATE KEY-----",
    "${oc.env:HOME}/token",
]
texts = st.sampled_from(TEXTS) | st.text(max_size=40).filter(lambda text: "://" not in text)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.dictionaries(st.sampled_from(ORDINARY_KEYS), inner, max_size=4),
    max_leaves=12,
)
configs = st.dictionaries(st.sampled_from(ORDINARY_KEYS), values, max_size=6)


class TestWhatIsOrdinary:
    @given(config=configs)
    @settings(max_examples=EXAMPLES, deadline=None)
    def test_ordinary_keys_and_texts_come_back_unchanged(self, config):
        assert redact(config) == config
        assert secrets_in(config) == set()

    @given(config=configs, text=texts, action=texts)
    @settings(max_examples=EXAMPLES, deadline=None)
    def test_a_trajectory_is_recorded_as_it_happened(self, config, text, action, tmp_path_factory):
        path = tmp_path_factory.mktemp("run") / "a.jsonl"
        turn = Turn("agent", text, action, 0.5, False, False, {"info": config, "token": S})
        error = {"boundary": "agent", "type": "E", "message": f"{text} {S}", "password": S}
        trajectory = Trajectory(
            "game:X", "agent", 0, 1, [turn], {"api_key": S}, text, None, error, failures=[error]
        )
        with remembered([S]), TrajectoryFile(path) as file:
            file.append(trajectory)
        assert list(read_trajectories(path)) == [trajectory]

    @given(config=configs)
    @settings(max_examples=EXAMPLES, deadline=None)
    def test_a_run_records_an_ordinary_configuration_unchanged(self, config, tmp_path_factory):
        folder = tmp_path_factory.mktemp("run")
        run = Run.create(folder, command=["gem", "seed=1"], config=config, envs=[], agents=[])
        assert run.info()["config"] == config
        assert run.info()["command"] == "gem seed=1"

    @pytest.mark.parametrize(
        "word",
        [
            *("env.level=2", "env=game/Wordle-v0", "agent=[oracle,random]", "seed=0,1", "-m"),
            *("agent.openai.max_tokens=5", "+agent.x.logit_bias={50256: -100, 'a b': 'c d'}"),
            *("answer_instruction='Fortune cookie: x. Author_key: y'", "env.token_ids=[1,2]"),
            *("agent.openai.api_key_env=MY_KEY", "agent.openai.api_key='${oc.env:MY_KEY}'"),
            *("agent.openai.api_key=null", "+env@envs.secret_santa=game/Wordle-v0", "~agent.x"),
        ],
    )
    def test_ordinary_words_are_recorded_as_they_were_typed(self, word):
        config = {"envs": {"secret_santa": {"id": "game:Wordle-v0"}}}
        assert redact_words(["gem-core", word], config) == ["gem-core", word]


class TestKeys:
    def test_the_whole_words_of_a_key_say_that_its_value_is_secret(self, subtests):
        for key in SECRET_KEYS:
            with subtests.test(key):
                assert redact({"a": [{key: S}]}) == {"a": [{key: HIDDEN}]}
                assert redact({key: {"x": [S, 12345678]}}) == {key: {"x": [HIDDEN, HIDDEN]}}
                assert redact_words([f"+agent.x.{key}='{S}'"]) == [f"+agent.x.{key}={HIDDEN}"]
                assert redact_words([f"--{key}", S]) == [f"--{key}", HIDDEN]
                assert redact([f"--{key}={S}"]) == [f"--{key}={HIDDEN}"]
                assert secrets_in({key: S}) == {S}

    def test_a_dot_separates_words_of_a_key(self):
        assert redact({"http.api.key": S, "api.keys": S}) == {"http.api.key": HIDDEN, "api.keys": S}

    def test_what_is_no_value_stays(self):
        config = {"password": None, "token": "", "secret": False, "api_key": "${oc.env:API_KEY}"}
        assert redact(config) == config

    def test_the_name_that_a_user_gives_to_a_part_says_nothing(self):
        config = {"agent": {"secret": {"id": "random", "seed": 1, "api_key": S}}}
        shown = {"agent": {"secret": {"id": "random", "seed": 1, "api_key": HIDDEN}}}
        assert redact(config) == shown

    @pytest.mark.parametrize(
        "config",
        [
            {"url": "https://user:planted@host/x"},
            {"url": "https://planted@host/x"},
            {"text": "see https://host/x?a=1&api_key=planted and postgres://user:planted@db/x"},
            {"url": "https://host/x#access_token=planted"},
            {"url": "redis://:planted@db"},
            {"args": ["--api-key", "planted"]},
            {"args": ["-H", "Authorization: Bearer planted"]},
            {"args": ["-e", "API_KEY=planted and more"]},
            {"args": ["API_KEY=planted"]},
        ],
    )
    def test_urls_and_arguments_are_read(self, config):
        shown = redact(config)
        assert "planted" not in str(shown)
        assert str(shown).count(HIDDEN) == str(config).count("planted")
        assert redact(shown) == shown

    @pytest.mark.parametrize(
        ("word", "shown"),
        [
            (f"a.x={{user: {{api_key: '{S}', id: 1}}}}", "a.x={user: {api_key: (hidden),id: 1}}"),
            (f"a.api_key='{S}',other", "a.api_key=(hidden),(hidden)"),
            (f"a.api_key='{S}", "a.api_key=(hidden)"),
            (f"a.args=[server,--token,'{S}']", "a.args=[server,--token,(hidden)]"),
            (f'a={{"user": [{{"password": "{S}"}}]}}', "a={user: [{password: (hidden)}]}"),
        ],
    )
    def test_the_values_within_a_word_are_read(self, word, shown):
        assert redact_words([word]) == [shown]


class Nested(pydantic.BaseModel):
    """Keys in a part of a command's keys."""

    pin: Secret = ""


class Keys(CommandKeys):
    """Keys of a command that declares secrets."""

    phrase: Secret | None = None
    inner: Nested = Nested()
    name: str = "x"
    out: str = "run"


class Vault(BaseAgent):
    """Declares secrets whose names do not sound secret, and quotes one if it is to fail."""

    def __init__(
        self,
        *,
        pin: Secret | None = None,
        pins: Mapping[str, Secret] | None = None,
        word: pydantic.SecretStr | None = None,
        servers: Annotated[Mapping[str, Any], SecretParts(("env", "auth"))] | None = None,
        api_key: str = "",
        base_url: str = "",
        limit: int = 1,
        fails: bool = False,
    ) -> None:
        self._pin, self._fails = pin, fails

    def act(self, observation, info):
        if self._fails:
            raise ConnectionError(f"The vault refuses {self._pin}.")
        return r"\boxed{1}"


class Door(BaseEnv):
    """An environment that declares a secret."""

    def __init__(self, *, pin: Secret = "", level: int = 1) -> None:
        self.level = level

    def start(self):
        return "Say anything.", {}

    def step(self, action):
        return Step("Good.", 1.0, True, False, {})


SPECS = [
    AgentSpec(id="vault", entry_point=Vault),
    AgentSpec(id="gone-vault", entry_point="no_such_module:Vault"),
    EnvSpec(id="redaction:Door", entry_point=Door, return_range=(0.0, 1.0)),
]


@pytest.fixture(scope="module", autouse=True)
def _registered():
    registry = default_registry()
    registry.add(*SPECS)
    yield
    for spec in SPECS:
        del registry._specs[spec.kind.id][spec.id]


GIVEN = {
    "pin": 4711,
    "pins": {"front": "planted", "back": "planted"},
    "word": "planted",
    "servers": {"a": {"url": "http://host", "env": {"A": "planted"}, "auth": "planted"}},
    "base_url": "http://host",
    "limit": 3,
}
SHOWN = {
    "pin": HIDDEN,
    "pins": {"front": HIDDEN, "back": HIDDEN},
    "word": HIDDEN,
    "servers": {"a": {"url": "http://host", "env": {"A": HIDDEN}, "auth": HIDDEN}},
    "base_url": "http://host",
    "limit": 3,
}


class TestDeclarations:
    def test_the_type_of_a_parameter_declares_a_secret_wherever_the_part_is(self):
        part, shown = {"id": "vault", **GIVEN}, {"id": "vault", **SHOWN}
        for place in (lambda x: x, lambda x: {"agent": {"a": x}}, lambda x: {"user": [x]}):
            assert redact(place(part)) == place(shown)
        assert redact({"id": "random", **GIVEN}) == {"id": "random", **GIVEN}

    def test_a_pattern_of_environments_declares_what_they_declare(self):
        config = {"envs": [{"id": "redaction:*", "pin": "planted", "level": 2}]}
        assert redact(config) == {"envs": [{"id": "redaction:*", "pin": HIDDEN, "level": 2}]}

    def test_a_part_that_its_entry_point_names_declares_secrets(self):
        config = {"id": f"{__name__}:Vault", **GIVEN}
        assert redact(config) == {**config, **SHOWN}

    def test_the_words_of_a_command_are_read_with_the_configuration(self):
        config = {"agent": {"vault": {"id": "vault", **GIVEN}}}
        words = [
            "agent.vault.pin=4711",
            "++agent.vault.pins.front=planted",
            "agent.vault.servers={a: {url: http, env: {A: planted}}}",
            "agent.vault.limit=3",
        ]
        assert redact_words(words, config) == [
            "agent.vault.pin=(hidden)",
            "++agent.vault.pins.front=(hidden)",
            "agent.vault.servers={a: {url: http,env: {A: (hidden)}}}",
            "agent.vault.limit=3",
        ]

    def test_the_keys_of_a_command_declare_secrets(self):
        config = {"phrase": "planted", "inner": {"pin": "planted"}, "name": "planted"}
        shown = {"phrase": HIDDEN, "inner": {"pin": HIDDEN}, "name": "planted"}
        words = ["phrase=planted", "inner.pin=planted", "name=planted"]
        hidden = ["phrase=(hidden)", "inner.pin=(hidden)", "name=planted"]
        with declared_by(Keys):
            assert redact(config) == shown
            assert redact_words(words, config) == hidden
        assert redact(config) == config

    def test_what_cannot_be_imported_declares_nothing(self):
        config = {"id": "gone-vault", "pin": "x", "api_key": S}
        assert redact(config) == {**config, "api_key": HIDDEN}

    @pytest.mark.slow
    def test_every_parameter_of_ours_that_sounds_secret_is_declared(self):
        registry = default_registry()
        kinds = (AGENTS, ENVS, TOOLS, WRAPPERS, EXECUTORS)
        specs = [spec for kind in kinds for spec in registry.list(kind)]
        specs += registry.named("remote:127.0.0.1:1/game:Wordle-v0")
        found = {
            (spec.id, name): parameter_types(spec.load())[name]
            for spec in specs
            if spec.source
            for name in spec.parameters()
            if redact({name: "x"}) != {name: "x"}
        }
        assert {("openai", "api_key"), ("vllm", "api_key")} <= set(found)
        assert "token" in {name for _, name in found}
        assert {key for key, one in found.items() if "SecretParts" not in repr(one)} == set()

    @pytest.mark.parametrize(
        ("needed", "part"),
        [
            ("mcp", {"id": "mcp", "auth": "planted", "headers": {"X-Any": "planted"}}),
            ("mcp", {"id": "mcp", "config": {"url": "http://host", "auth": "planted"}}),
            ("mcp", {"id": "mcp", "config": {"mcpServers": {"a": {"env": {"ANY": "planted"}}}}}),
            (
                "cloudpickle",
                {"id": "ray", "runtime_env": {"env_vars": {"ANY": "planted"}, "pip": ["x"]}},
            ),
        ],
    )
    def test_headers_and_variables_of_servers_are_declared(self, needed, part):
        needs(needed)
        shown = redact(part)
        assert "planted" not in str(shown)
        assert str(shown).replace(HIDDEN, "planted") == str(part)


class TestMessages:
    def test_a_secret_that_is_long_enough_is_hidden_in_messages(self):
        quoted = "it's \\planted"
        with remembered([S, quoted, "short", f"{S}-longer"]):
            shown = hide(f"short {S} {S}-longer {quoted} {quoted!r} {quoted!r}")
        assert shown == f"short {HIDDEN} {HIDDEN} {HIDDEN} '{HIDDEN}' '{HIDDEN}'".replace("'", '"')
        assert hide(S) == S


RECORDED = {
    "env": {"id": "math:Sample", "answer_instruction": f"Cookie: {HIDDEN}", "key": HIDDEN},
    "tools": {"mcp": {"args": ["server", HIDDEN], "config": HIDDEN}, "python": {"key": HIDDEN}},
    "agent": {"openai": {"api_key": HIDDEN, "stop": f"a{HIDDEN}c"}},
}
NOW = {
    "env": {"id": "math:Sample", "answer_instruction": "Cookie: [x]", "key": "author"},
    "tools": {"mcp": {"args": ["server", "x"], "config": {"a": 1}}, "python": {"key": None}},
    "agent": {"openai": {"api_key": S, "stop": "abd"}},
}


def test_what_an_earlier_version_hid_is_taken_from_the_new_configuration():
    assert with_hidden(RECORDED, NOW) == {
        **NOW,
        "tools": {"mcp": NOW["tools"]["mcp"], "python": {"key": HIDDEN}},
        "agent": {"openai": {"api_key": S, "stop": f"a{HIDDEN}c"}},
    }
    assert with_hidden(NOW, {}) == NOW


WORDS = [
    "redaction:Door",
    "env.pin=planted-a1",
    "env.level=2",
    "agent=vault",
    "agent.pin=planted-b2",
    "agent.api_key=planted-c3",
    "agent.base_url='https://me:planted-d4@host/x?token=planted-e5&n=1'",
    "agent.servers={env: {ANY: planted-f6}, args: ['--token=planted-g7']}",
    "answer_instruction='Fortune cookie: x. Author_key: 12345678'",
    "episodes=1",
]


def files_of(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.slow
@pytest.mark.parametrize("more", [[], ["-m", "seed=0,1"]])
def test_no_file_of_a_run_and_no_message_holds_a_secret(more, tmp_path):
    done = gem("run", *more, *WORDS, "out=mine", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "planted" not in done.stdout + done.stderr
    files = files_of(tmp_path)
    assert {"run.json", "trajectories.jsonl"} <= {path.name for path in files}
    assert ("multirun.yaml" in {path.name for path in files}) == bool(more)
    for path in files:
        assert "planted" not in path.read_text()
        assert path.stat().st_mode & 0o077 == 0, path
        if path.name == "run.json":
            info = json.loads(path.read_text())
            assert str(info["config"]).count(HIDDEN) == info["command"].count(HIDDEN) == 7
            assert info["config"]["answer_instruction"] in info["command"]
            assert info["config"]["env"]["level"] == 2
            assert f"agent.vault.pin={HIDDEN}" in shlex.split(info["command"])


@pytest.mark.slow
def test_the_text_that_an_agent_sees_and_its_errors_are_recorded_unchanged(tmp_path):
    words = [*WORDS, "agent.fails=true", "out=mine"]
    done = gem("run", *words, cwd=tmp_path)
    [trajectory] = Run.open(tmp_path / "mine").trajectories()
    assert trajectory.error["message"] == "The vault refuses planted-b2."
    assert "The vault refuses planted-b2." in done.stderr
    assert "Fortune cookie: x. Author_key: 12345678" in trajectory.final_observation
    assert "planted" not in (tmp_path / "mine" / "run.json").read_text()


@pytest.mark.slow
def test_the_name_of_an_environment_holds_no_secret(tmp_path):
    done = gem(
        "run",
        "envs=[{id: 'redaction:Door', pin: planted-a1, level: 2}]",
        *("agent=vault", "episodes=1", "out=mine"),
        cwd=tmp_path,
    )
    [trajectory] = Run.open(tmp_path / "mine").trajectories()
    assert trajectory.env_name == "redaction:Door(pin=(hidden), level=2)"
    written = [path.read_text() for path in files_of(tmp_path)]
    assert "planted" not in "".join([done.stdout, done.stderr, *written])


@pytest.mark.slow
@pytest.mark.parametrize("more", [[], ["-m", "seed=0"]])
def test_a_run_with_a_users_own_configuration_leaves_no_secret_behind(more, tmp_path):
    (tmp_path / "mine.yaml").write_text(
        "defaults: [_self_, {env: redaction/Door}, {agent: [vault]}, "
        "{override hydra/job_logging: none}]\n"
        "episodes: 1\nseed: 0\nout: mine\n"
    )
    words = [*more, "--config-dir", ".", "--config-name", "mine", "agent.vault.pin=planted-b2"]
    done = gem("run", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "run.json" in {path.name for path in files_of(tmp_path)}
    assert not [path for path in files_of(tmp_path) if "planted" in path.read_text()]
    refused = gem("run", *words, "agent.vault.pin=[planted", cwd=tmp_path)
    assert "'agent.vault.pin' cannot be parsed" in refused.stderr
    assert "planted" not in refused.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "count", "has"),
    [
        (["--cfg", "job"], 7, "Author_key: 12345678"),
        (["--cfg", "hydra"], 8, "agent.vault.pin=(hidden)"),
        (["--cfg", "all"], 15, "agent.vault.pin=(hidden)"),
        (["--info", "config"], 7, "| agent/vault "),
        (["--info", "all"], 7, "Author_key: 12345678"),
        (["--info", "plugins"], 0, "Installed Hydra Plugins"),
    ],
)
def test_the_printed_configuration_holds_no_secret(flags, count, has, tmp_path):
    shown = gem("run", *flags, *WORDS, cwd=tmp_path).stdout
    assert "planted" not in shown
    assert shown.count(HIDDEN) == count
    assert has in shown


@pytest.mark.slow
@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("agent.pin=[planted-f6", "The value of 'agent.pin' cannot be parsed."),
        ("agent.servers={api_key: [planted-f6", "The value of 'agent.servers' cannot be parsed."),
        ("agent.pin=(hidden)", "The value of 'agent.pin' was not recorded, as it is secret."),
        ("agent.limit={token: planted-f6}", "agent.vault.limit: Input should be a valid integer"),
        ("agent.pin=[planted-f6]", "agent.vault.pin takes a text."),
        ("agent=[{id: vault, pin: planted-f6}]", "agent= takes ids"),
    ],
)
def test_an_error_quotes_the_configuration_without_secrets(word, message, tmp_path):
    done = gem("run", "redaction:Door", "agent=vault", word, cwd=tmp_path)
    assert done.returncode == 1
    assert message in done.stderr
    assert "planted" not in done.stdout + done.stderr


@pytest.mark.slow
def test_a_sweep_that_cannot_begin_leaves_nothing_behind(tmp_path):
    words = [*WORDS, "+agent.vault.pin=planted-h8", "seed=0,1", "out=mine"]
    done = gem("run", "-m", *words, cwd=tmp_path)
    assert done.returncode == 1
    assert "An item is already at 'agent.vault.pin'" in done.stderr
    assert files_of(tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("error", [None, ConfigError, RuntimeError])
def test_a_command_may_declare_secrets_of_its_own(error, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["gem-core"])

    def work(job):
        """Work."""
        Run.create(job.folder, command=job.command, config=job.config, envs=[], agents=[])
        if error is not None:
            raise error(f"It does not open with {job.keys.phrase}.")

    command = HydraCommand("work", work, Keys, agents=None)
    words = ["phrase=planted-a1", "inner.pin=planted-b2"]
    with contextlib.suppress(SystemExit):
        command.main(words, prog_name="gem-core work", standalone_mode=False)
    info = Run(tmp_path / "run").info()
    assert (info["config"]["phrase"], info["config"]["inner"]["pin"]) == (HIDDEN, HIDDEN)
    assert Run(tmp_path / "run").typed()[1] == ["phrase=(hidden)", "inner.pin=(hidden)"]
    shown = "".join(capfd.readouterr())
    assert ("It does not open with (hidden)." in shown) == (error is not None)
    assert "planted" not in shown

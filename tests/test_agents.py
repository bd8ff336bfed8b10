"""Agents that need no model."""

from typing import Any

import pytest

import gem_core
from gem_core import Action, BaseAgent, BaseEnv, Env, EnvSpec, Info, Observation, Step
from gem_core.agent import Agent, HumanAgent, OracleAgent, RandomAgent, ScriptedAgent, SilentAgent
from gem_core.errors import ConfigError, EntryPointError

GAME = "game:GuessTheNumber-v0-easy"


class Echo(BaseEnv):
    def start(self) -> tuple[Observation, Info]:
        return "go", {"prefix": "Rules. ", "suffix": "Say it:"}

    def step(self, action: Action) -> Step:
        return Step(action, 1.0, False, False, {})

    def sample_random_action(self) -> Action:
        return self.action_rng.choice("abc")


class Player(BaseAgent):
    """Says what it was asked to play, and how often it was closed."""

    closed = 0

    def reset(self, env: Env) -> None:
        self.env = env

    def act(self, observation: Observation, info: Info) -> Action:
        return f"play {observation}"

    def close(self) -> None:
        Player.closed += 1


def play(agent: Agent, env: Env, turns: int) -> list[Action]:
    observation, info = env.reset(seed=1)
    agent.reset(env)
    actions = []
    for _ in range(turns):
        actions.append(agent.act(observation, info))
        observation, _, _, _, info = env.step(actions[-1])
    return actions


@pytest.mark.parametrize("agent_id", ["random", "oracle", "silent", "human"])
def test_agents_are_made_by_id_and_follow_the_protocol(agent_id: str) -> None:
    agent = gem_core.make_agent(agent_id)
    assert isinstance(agent, Agent)
    agent.close()
    agent.close()


def test_the_scripted_agent_repeats_its_last_action() -> None:
    agent = gem_core.make_agent("scripted", actions=["one", "two"])
    for _ in range(2):
        assert play(agent, Echo(), 4) == ["one", "two", "two", "two"]


def test_the_scripted_agent_starts_over_if_asked_to() -> None:
    agent = ScriptedAgent(["one", "two"], repeat=True)
    assert play(agent, Echo(), 5) == ["one", "two", "one", "two", "one"]


def test_the_scripted_agent_needs_an_action() -> None:
    with pytest.raises(ConfigError, match="at least one action"):
        ScriptedAgent([])


def test_the_random_agent_repeats_with_the_seed_of_the_environment() -> None:
    first, second = (play(RandomAgent(), Echo(), 20) for _ in range(2))
    assert first == second
    assert set(first) == {"a", "b", "c"}


def test_the_silent_agent_answers_with_nothing() -> None:
    assert play(SilentAgent(), Echo(), 2) == ["", ""]


def test_a_person_is_asked_with_all_that_belongs_to_the_observation() -> None:
    asked: list[str] = []

    def ask(text: str) -> str:
        asked.append(text)
        return "hello"

    assert play(HumanAgent(ask), Echo(), 2) == ["hello", "hello"]
    assert asked == ["Rules. go\nSay it:", "hello"]


def test_a_person_at_the_terminal_answers_with_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prompts: list[str] = []

    def type_a_line(prompt: str) -> str:
        prompts.append(prompt)
        return "typed"

    monkeypatch.setattr("builtins.input", type_a_line)
    assert play(HumanAgent(), Echo(), 1) == ["typed"]
    assert prompts[0].endswith("> ")
    assert capsys.readouterr().out == ""


class TestOracle:
    @pytest.mark.parametrize("wrappers", [[], ["concat"], ["time_limit", "episode_tracking"]])
    def test_the_oracle_plays_as_well_as_the_game_can_be_played(self, wrappers: list[str]) -> None:
        env = gem_core.make(GAME, wrappers=wrappers)
        agent = gem_core.make_agent("oracle")
        for seed in range(10):
            observation, info = env.reset(seed=seed)
            agent.reset(env)
            step = Step(observation, 0.0, False, False, info)
            while not (step.terminated or step.truncated):
                step = env.step(agent.act(step.observation, step.info))
            assert step.reward == 1.0

    @pytest.mark.parametrize(
        ("spec", "name"),
        [(None, "'Echo' has no oracle"), (EnvSpec(id="a:b", entry_point=Echo), "'a:b' has no")],
    )
    def test_an_environment_without_one_is_named(self, spec: EnvSpec | None, name: str) -> None:
        env = Echo()
        env.spec = spec
        with pytest.raises(ConfigError, match=name):
            OracleAgent().reset(env)

    def test_an_entry_point_to_nothing_is_explained(self) -> None:
        env = Echo()
        env.spec = EnvSpec(id="a:b", entry_point=Echo, oracle="gem_core.agent:NoOracle")
        with pytest.raises(EntryPointError, match="NoOracle"):
            OracleAgent().reset(env)

    def test_the_oracle_hands_everything_to_its_player_and_closes_it(self) -> None:
        env = Echo()
        env.spec = EnvSpec(id="a:b", entry_point=Echo, oracle=Player)
        agent: Any = OracleAgent()
        before = Player.closed
        assert play(agent, env, 1) == ["play go"]
        assert play(agent, env, 1) == ["play go"]
        agent.close()
        agent.close()
        assert Player.closed == before + 2

    def test_acting_before_reset_says_what_to_do(self) -> None:
        with pytest.raises(ConfigError, match=r"call reset\(env\) first"):
            OracleAgent().act("", {})

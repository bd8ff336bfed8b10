"""Episodes of several agents, and one agent's view of them: what is paid to whom, and copies."""

import asyncio
import importlib.util
import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

import gem_core
import gem_rollout
from gem_agents.testing.endpoint_server import EndpointServer
from gem_core import BaseAgent, Reply
from gem_core.agent import Generation, RandomAgent
from gem_core.errors import ConfigError, EpisodeEndedError, SnapshotError, WrongAgentError
from gem_core.testing import check_env
from gem_rollout import MultiAgentEnv, Trajectory
from gem_rollout.multi_agent import AgentSelector
from gem_rollout.multi_agent.agent_view import AgentView
from gem_rollout.testing import check_multi_agent_env

EXAMPLE = Path(__file__).parents[3] / "examples" / "nim.py"


@pytest.fixture(scope="module")
def nim():
    spec = importlib.util.spec_from_file_location("nim_example", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where snapshots look for its agents
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


class Count(MultiAgentEnv):
    """In turn ``a``, ``b``, ``c`` count to seven; each count pays 1.0 to all, "out" ends one."""

    possible_agents = ("a", "b", "c")

    def __init__(self) -> None:
        super().__init__()
        self.agent_selector = AgentSelector(self.possible_agents)

    def start(self, *, count: int = 0):
        self.count = count
        self.noise = self.rng.random()

    def observe(self, agent):
        return f"{agent} sees {self.count}"

    def process_actions(self, actions):
        ((agent, action),) = actions.items()
        if action == "fail":
            raise OSError("the table broke")
        self.count += 1
        flags = dict.fromkeys(self.agents, self.count >= 7) | {agent: action == "out"}
        if self.count >= 7:
            flags[agent] = True
        infos = {other: {f"from {agent}": self.count} for other in self.agents}
        return {}, dict.fromkeys(self.agents, 1.0), flags, {}, infos

    def sample_action(self, agent, rng):
        return rng.choice(["one", "two", "three"])


class AsyncCount(Count):
    async def start(self):
        Count.start(self)

    async def process_actions(self, actions):
        await asyncio.sleep(0)
        return Count.process_actions(self, actions)


class Both(Count):
    """``a`` and ``b`` act together, twice."""

    possible_agents = ("a", "b")

    def __init__(self) -> None:
        MultiAgentEnv.__init__(self)

    def process_actions(self, actions):
        self.count += 1
        cut = dict.fromkeys(actions, self.count == 2)
        return {}, {"a": 1.0, "b": float(actions["a"] == actions["b"])}, {}, cut, {}


class Says(BaseAgent):
    """Says a list of actions, used up as it goes; keeps what it saw; may answer later."""

    def __init__(self, *actions: str, later: bool = False) -> None:
        self.actions = list(actions)
        self.later = later
        self.seen: list = []
        self.seeds: list = []
        self.closed = False

    def seed_episode(self, seed):
        self.seeds.append(seed)

    def act(self, observation, info):
        self.seen.append((observation, info))
        action = self.actions.pop(0) if self.actions else "on"
        return self.answer(action) if self.later else action

    async def answer(self, action):
        await asyncio.sleep(0)
        return action

    def close(self):
        self.closed = True


class Model(BaseAgent):
    """Answers with token ids, as a model does."""

    def __init__(self, first: int) -> None:
        self.next = first

    def act(self, observation, info):
        self.next += 2
        extends = bool(self.next % 10 != 2)
        generation = Generation(
            prompt_ids=[self.next - 2], token_ids=[self.next - 1], logprobs=[-0.5], extends=extends
        )
        return Reply("on", generation)


def play(env, agents, seed=0):
    async def wait(value):
        return await value

    trajectory = gem_rollout.play_agents(env, agents, seed)
    return asyncio.run(wait(trajectory)) if inspect.isawaitable(trajectory) else trajectory


def random_agents(env):
    return {agent: RandomAgent() for agent in env.possible_agents}


class TestPlayAgents:
    def test_a_turn_names_its_agent_and_holds_all_rewards_until_the_next_one(self):
        agents = {"a": Says("out"), "b": Says(), "c": Says()}
        trajectory = play(Count(), agents, seed=3)
        assert [turn.agent for turn in trajectory.turns] == ["a", "b", "c", "b", "c", "b", "c"]
        assert [turn.observation for turn in trajectory.turns[:3]] == [
            "a sees 0",
            "b sees 1",
            "c sees 2",
        ]
        # c was paid for the turns of a and b before its own first one; a left with its first.
        assert [turn.reward for turn in trajectory.turns] == [1.0, 3.0, 4.0, 2.0, 2.0, 2.0, 1.0]
        ended = [turn.terminated for turn in trajectory.turns]
        assert ended == [True, False, False, False, False, True, True]
        assert trajectory.turns[1].info == {"from b": 2, "from c": 3}
        assert agents["b"].seen[1] == ("b sees 3", {"from b": 2, "from c": 3})
        assert (trajectory.env_id, trajectory.agent) == ("Count", "a, b, c")
        assert (trajectory.seed, trajectory.error, trajectory.success) == (3, None, None)
        assert trajectory.final_observation == "c sees 7"

    def test_the_turns_of_one_agent_are_an_episode_of_its_own(self):
        env = Count()
        trajectory = play(env, random_agents(env))
        for agent in env.possible_agents:
            part = trajectory.of_agent(agent)
            assert part.agent == agent
            assert {turn.agent for turn in part.turns} == {agent}
            assert part.episode_return == env.get_state(agent).reward == 7.0
        assert trajectory.episode_return == 21.0
        assert trajectory.of_agent("z").turns == []

    def test_agents_that_act_at_once_have_a_turn_each(self):
        trajectory = play(Both(), {"a": Says("x", "y"), "b": Says("x", "z")})
        got = [(turn.agent, turn.action, turn.reward) for turn in trajectory.turns]
        assert got == [("a", "x", 1.0), ("b", "x", 1.0), ("a", "y", 1.0), ("b", "z", 0.0)]
        assert [turn.truncated for turn in trajectory.turns] == [False, False, True, True]
        assert trajectory.turns[0].env_seconds == 0.0 < trajectory.turns[1].env_seconds

    def test_each_agent_has_its_own_repeatable_seed(self):
        runs = [{"a": Says(), "b": Says(), "c": Says()} for _ in range(2)]
        for agents in runs:
            play(Count(), agents, seed=8)
        seeds = [[agent.seeds for agent in agents.values()] for agents in runs]
        assert seeds[0] == seeds[1]
        assert len({str(one) for one in seeds[0]}) == 3

    @pytest.mark.parametrize("env_class", [Count, AsyncCount])
    @pytest.mark.parametrize("later", [False, True])
    def test_coroutines_of_environments_and_agents_are_awaited(self, env_class, later):
        agents = {"a": Says(later=later), "b": Says(), "c": Says(later=later)}
        trajectory = play(env_class(), agents)
        assert (len(trajectory.turns), trajectory.error) == (7, None)

    def test_agents_that_act_at_once_are_awaited_together(self):
        both = asyncio.Event()

        class Waits(BaseAgent):
            async def act(self, observation, info):
                await asyncio.wait_for(both.wait(), 30)
                return "x"

        class Wakes(BaseAgent):
            async def act(self, observation, info):
                both.set()
                return "x"

        assert play(Both(), {"a": Waits(), "b": Wakes()}).error is None

    @pytest.mark.parametrize("later", [False, True])
    def test_an_error_of_an_agent_ends_the_episode_and_is_recorded(self, later):
        class Breaks(Says):
            def act(self, observation, info):
                if not later:
                    raise OSError("gone")
                return self.fail()

            async def fail(self):
                raise OSError("gone")

        trajectory = play(Count(), {"a": Says(), "b": Breaks(), "c": Says()})
        assert (trajectory.error["boundary"], trajectory.error["message"]) == ("agent", "gone")
        assert (len(trajectory.turns), trajectory.success) == (1, False)

    def test_an_error_of_the_environment_is_recorded_as_one(self):
        trajectory = play(Count(), {"a": Says("on", "fail"), "b": Says(), "c": Says()})
        assert trajectory.error["boundary"] == "env"
        assert len(trajectory.turns) == 3

    def test_an_environment_in_which_no_agent_can_act_is_an_error(self):
        class Stuck(Count):
            active_agents = ()

        trajectory = play(Stuck(), random_agents(Stuck()))
        assert "no agent acts now" in trajectory.error["message"]

    def test_every_agent_needs_a_player_of_its_own(self):
        with pytest.raises(WrongAgentError, match="no player: b, c"):
            gem_rollout.play_agents(Count(), {"a": Says()}, 0)
        one = Says()
        with pytest.raises(ConfigError, match="One object is the player of two of a, b, c"):
            gem_rollout.play_agents(Count(), {"a": one, "b": one, "c": Says()}, 0)

    def test_each_agent_of_a_trajectory_has_its_own_tokens(self):
        trajectory = play(Count(), {"a": Model(0), "b": Model(100), "c": RandomAgent()})
        tokens = {sequence.agent: sequence for sequence in trajectory.tokens()}
        assert list(tokens) == ["a", "b"]
        assert tokens["a"].ids == [0, 1, 2, 3, 4, 5]
        assert tokens["b"].mask == [False, True, False, True]
        assert [turn for turn, _, _ in tokens["b"].spans] == [1, 4]
        assert trajectory.of_agent("a").tokens()[0].ids == tokens["a"].ids

    def test_a_trajectory_of_several_agents_is_stored_like_any_other(self, tmp_path):
        from gem_rollout import TrajectoryFile, read_trajectories

        env = Count()
        trajectory = play(env, random_agents(env))
        with TrajectoryFile(tmp_path / "game.jsonl") as file:
            file.append(trajectory)
        assert list(read_trajectories(tmp_path / "game.jsonl")) == [trajectory]


def view_of(env_class, agent="b", agents=("a", "b", "c")):
    others = {name: RandomAgent() for name in agents if name != agent}
    return gem_rollout.as_single(env_class(), agent, others=others)


class TestView:
    def test_in_a_view_the_others_play_until_it_is_the_agents_turn(self):
        first, third = Says(), Says()
        view = gem_rollout.as_single(Count(), "b", others={"a": first, "c": third})
        observation, info = view.reset(seed=0)
        assert (observation, info) == ("b sees 1", {"from a": 1})
        step = view.step("on")
        assert step == ("b sees 4", 4.0, False, False, {"from b": 2, "from c": 3, "from a": 4})
        assert [seen for seen, _ in third.seen] == ["c sees 2"]
        assert view.step("on").reward == 3.0
        with pytest.raises(EpisodeEndedError):
            view.step("on")

    def test_the_episode_of_a_view_ends_when_its_agent_leaves(self):
        view = view_of(Count, "a")
        view.reset(seed=0)
        step = view.step("out")
        assert (step.terminated, step.reward, view.env.agents) == (True, 1.0, ["b", "c"])

    def test_an_agent_that_ends_before_its_turn_is_told_so_by_its_first_step(self):
        class Short(Count):
            def process_actions(self, actions):
                return {}, {"b": -2.0}, dict.fromkeys(self.agents, True), {}, {}

        view = view_of(Short)
        observation, _ = view.reset(seed=0)
        assert observation == "b sees 0"
        step = view.step("whatever")
        assert (step.reward, step.terminated) == (-2.0, True)
        assert view.reset() is not None

    def test_an_agent_that_never_comes_in_ends_at_once(self):
        class Without(Count):
            def start(self):
                super().start()
                self.agents = ["a", "c"]

        view = view_of(Without)
        assert view.reset(seed=0) == ("", {})
        assert view.step("on") == ("", 0.0, True, False, {})

    def test_a_seed_starts_the_episode_that_it_starts_without_the_view(self, nim):
        env = nim.NimEnv()
        view = gem_rollout.as_single(nim.NimEnv(), "first", others={"second": RandomAgent()})
        for seed in range(5):
            assert view.reset(seed=seed)[0] == env.reset(seed=seed)[0]["first"]
            assert view.reset()[0] == env.reset()[0]["first"]

    def test_a_view_takes_the_reset_options_of_its_environment(self):
        view = view_of(Count)
        assert view.reset(seed=0, count=3)[0] == "b sees 4"
        with pytest.raises(TypeError, match="takes no argument 'cuont'"):
            view.reset(cuont=3)

    def test_each_copy_of_a_view_has_its_own_other_agents(self):
        others = {"a": Says("x", "y", "z"), "c": Says("p", "out", "q")}
        view = gem_rollout.as_single(Count(), "b", others=others)
        view.reset(seed=0)
        snapshot, fork = view.snapshot(), view.fork()
        played = [list(view.step("on")) for _ in range(2)]
        assert others["c"].actions == ["q"]
        assert [list(fork.step("on")) for _ in range(2)] == played
        view.restore(snapshot)
        assert [list(view.step("on")) for _ in range(2)] == played
        assert fork.env is not view.env
        assert fork._players.agents["c"] is not others["c"]

    def test_random_agents_in_a_copy_of_a_view_use_the_environment_of_the_copy(self):
        view = view_of(Count)
        view.reset(seed=0)
        fork = view.fork()
        assert fork._players.agents["a"]._env.env is fork.env
        assert view._players.agents["a"]._env.env is view.env

    def test_copies_of_other_agents_share_the_attributes_that_these_name_as_shared(self):
        class Connected(Says):
            shared = ("waiting",)

            def __init__(self):
                super().__init__()
                self.waiting = (number for number in range(9))  # cannot be pickled

        other = Connected()
        view = gem_rollout.as_single(Count(), "b", others={"a": other, "c": Says()})
        view.reset(seed=0)
        snapshot, fork = view.snapshot(), view.fork()
        copied = fork._players.agents["a"]
        assert copied is not other
        assert copied.waiting is other.waiting
        assert copied.seen == other.seen
        view.restore(snapshot)
        assert view._players.agents["a"].waiting is other.waiting
        assert view.step("on") == fork.step("on")

    def test_a_model_behind_an_endpoint_may_play_another_agent_of_a_view(self, nim):
        async def play_on():
            other = gem_core.make_agent("openai", model="m", base_url=server.url)
            view = gem_rollout.as_single(nim.NimEnv(), "second", others={"first": other})
            await view.reset(seed=0)
            return [await one.step("take 1 from 1") for one in (view.fork(), view)]

        with EndpointServer(reply="take 1 from 0") as server:
            forked, step = asyncio.run(play_on())
            assert forked == step
            agents = {
                name: gem_core.make_agent("openai", model=name, base_url=server.url)
                for name in ("first", "second")
            }
            trajectory = play(nim.NimEnv(), agents)
        assert trajectory.error is None
        assert {turn.generation.reply["content"] for turn in trajectory.turns} == {"take 1 from 0"}
        assert [turn.generation.extends for turn in trajectory.turns[:3]] == [False, False, True]

    def test_other_agents_that_cannot_be_copied_are_named_in_the_error(self):
        other = Says()
        other.waiting = (number for number in range(3))
        view = gem_rollout.as_single(Count(), "b", others={"a": other, "c": Says()})
        view.reset(seed=0)
        with pytest.raises(SnapshotError, match="AgentView cannot be saved: its attribute '_play"):
            view.fork()

    @pytest.mark.slow
    @pytest.mark.parametrize("env_class", [Count, AsyncCount, Both])
    def test_a_view_keeps_the_contract_of_environments(self, env_class):
        def make_view():
            return view_of(env_class, "b", env_class.possible_agents)

        checks = ["types", "determinism", "randomness", "snapshots", "ends", "odd_actions"]
        spec = gem_core.EnvSpec(id="test:View", entry_point=make_view)
        check_env(spec, checks=checks).raise_for_findings()

    def test_a_view_works_with_wrappers_vectors_and_rollouts(self, nim):
        gem_core.register("test:NimView-v0", nim.nim_against_random, heaps=2)
        env = gem_core.make("test:NimView-v0", wrappers=["concat", "episode_tracking"])
        assert isinstance(env.unwrapped, AgentView)
        env.reset(seed=1)
        assert env.step("take 1 from 0").info["step_counter"] == 1
        with gem_core.make_vec("test:NimView-v0", num_envs=3, seed=0) as vector:
            vector.reset()
            assert len(vector.step(vector.sample_random_actions()).rewards) == 3
        played = gem_rollout.collect(
            lambda: gem_core.make("test:NimView-v0"),
            nim.Theorist,
            episodes=8,
            episodes_per_group=4,
            fork_groups=True,
        )
        found = sorted(played, key=lambda one: one.index)
        assert [one.error for one in found] == [None] * 8
        assert len({one.turns[0].observation for one in found[:4]}) == 1

    def test_closing_a_view_closes_the_other_agents(self):
        others = {"a": Says(), "c": Says()}
        gem_rollout.as_single(Count(), "b", others=others).close()
        assert others["a"].closed
        assert others["c"].closed

    @pytest.mark.parametrize(
        ("agent", "others", "message"),
        [
            ("z", ["a", "b", "c"], "Count has no agent 'z'. It has: a, b, c"),
            ("a", ["a", "b", "c"], "'a' acts from outside"),
            ("a", ["b"], "no player: c"),
        ],
    )
    def test_a_view_needs_one_player_for_each_other_agent(self, agent, others, message):
        with pytest.raises(WrongAgentError, match=message):
            gem_rollout.as_single(Count(), agent, others={name: Says() for name in others})


class Party(MultiAgentEnv):
    """Rewards, ends and guests are random; agents act in turn or together."""

    def __init__(self, *, size: int, mode: str) -> None:
        super().__init__()
        self.possible_agents = [str(number) for number in range(size)]
        self.agent_selector = AgentSelector(self.possible_agents, mode)

    def start(self):
        self.agents = self.rng.sample(self.agents, self.rng.randint(1, len(self.agents)))
        self.guests = [name for name in self.possible_agents if name not in self.agents]
        self.steps = 0

    def observe(self, agent):
        return f"{agent} at {self.steps}"

    def process_actions(self, actions):
        self.steps += 1
        if self.guests and self.rng.random() < 0.3:
            self.add_agent(self.guests.pop())
        rewards = {agent: self.rng.randint(-3, 3) for agent in self.agents}
        fates = {agent: self.rng.choice("......tc") for agent in self.agents}
        if self.steps == 30:
            fates = dict.fromkeys(self.agents, "c")
        ended = {agent: fate == "t" for agent, fate in fates.items()}
        cut = {agent: fate == "c" for agent, fate in fates.items()}
        return {}, rewards, ended, cut, {agent: {fate: self.steps} for agent, fate in fates.items()}


@pytest.mark.slow
@settings(max_examples=60 if thorough() else 15)
@given(st.integers(1, 5), st.sampled_from(["sequential", "parallel"]), st.integers(0, 2**32))
def test_a_view_gives_an_agent_what_it_gets_among_the_others(size, mode, seed):
    env = Party(size=size, mode=mode)
    names = env.possible_agents
    trajectory = gem_rollout.play_agents(env, {name: Says() for name in names}, seed)
    assert trajectory.error is None
    for name in names:
        turns = trajectory.of_agent(name).turns
        others = {other: Says() for other in names if other != name}
        view = gem_rollout.as_single(Party(size=size, mode=mode), name, others=others)
        observation, _ = view.reset(seed=seed)
        for turn in turns:
            assert observation == turn.observation
            fork = view.fork()
            step = view.step("on")
            assert fork.step("on") == step
            observation, *rest = step
            assert rest == [turn.reward, turn.terminated, turn.truncated, turn.info]
        if turns:
            assert turns[-1].terminated or turns[-1].truncated
            assert sum(turn.reward for turn in turns) == env.get_state(name).reward
        else:
            assert any(view.step("on")[2:4])


class TestExample:
    @pytest.mark.slow
    def test_the_nim_example_keeps_the_contract(self, nim):
        check_multi_agent_env(nim.NimEnv).raise_for_findings()

    def test_the_nim_example_plays_by_the_rules(self, nim):
        env = nim.NimEnv(heaps=1, largest=1)
        env.reset(seed=0)
        step = env.step({"first": "take 1 from 0 say: thanks"})
        assert step.rewards == {"first": 1.0, "second": -1.0}
        assert step.observations["second"].endswith("The other player says: thanks")
        assert not env.agents

    @pytest.mark.parametrize("action", ["", "take 0 from 0", "take 8 from 0", "take 1 from 3"])
    def test_an_impossible_move_loses_the_nim_example(self, nim, action):
        env = nim.NimEnv()
        env.reset(seed=0)
        step = env.step({"first": action})
        assert step.rewards == {"first": -1.0, "second": 1.0}
        assert step.infos["first"]["format_error"] == (action == "")

    def test_the_theorist_of_the_nim_example_wins_every_winnable_game(self, nim):
        for seed in range(20):
            players = {"first": nim.Theorist(), "second": nim.Theorist()}
            trajectory: Trajectory = gem_rollout.play_agents(nim.NimEnv(), players, seed)
            sizes = [
                int(size) for size in nim.re.findall(r": (\d)", trajectory.turns[0].observation)
            ]
            won = trajectory.of_agent("first").episode_return > 0
            assert won == (nim.reduce(nim.xor, sizes) != 0)

    @pytest.mark.slow
    def test_the_nim_example_runs_as_a_program(self):
        done = subprocess.run(
            [sys.executable, "-W", "error", str(EXAMPLE), "5"],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "play_agents: the theorist won" in done.stdout

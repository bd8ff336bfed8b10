"""Environments for several agents: turns, flags, sums, messages, copies, joining and leaving."""

import random
from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

import gem_core
import gem_rollout
from gem_core.errors import (
    ConfigError,
    EpisodeEndedError,
    GemError,
    UnknownKwargError,
    WrongAgentError,
)
from gem_rollout import MultiAgentEnv, MultiAgentStep
from gem_rollout.multi_agent import AgentSelector
from gem_rollout.testing import check_multi_agent_env

EXAMPLES = 100 if thorough() else 30


class Duel(MultiAgentEnv):
    """Both guess a number together; the closer guess wins. Each hears the other's guess."""

    possible_agents = ("left", "right")

    def __init__(self, *, rounds: int = 3) -> None:
        super().__init__()
        self.rounds = rounds

    def start(self, *, largest: int = 9):
        self.largest = largest
        self.round = 0
        self.secret = self.rng.randint(1, largest)
        self.infos["left"] = {"suffix": "You are on the left."}

    def observe(self, agent):
        heard = [message["message"] for message in self.messages_to(agent)]
        return f"A number from 1 to {self.largest}? Heard: {' '.join(heard)}"

    def process_actions(self, actions):
        distances = {agent: self.distance(text) for agent, text in actions.items()}
        for agent, text in actions.items():
            self.broadcast_message(agent, text[:9])
        best = min(distances.values())
        rewards = {agent: float(distance == best) for agent, distance in distances.items()}
        self.round += 1
        self.secret = self.rng.randint(1, self.largest)
        cut = dict.fromkeys(actions, self.round == self.rounds)
        return {}, rewards, {}, cut, {"right": {"round": self.round}}

    def distance(self, text):
        known = text.isascii() and text.isdigit() and len(text) < 3
        return abs(int(text) - self.secret) if known else 100

    def sample_action(self, agent, rng):
        return str(rng.randint(1, self.largest))


class Chairs(MultiAgentEnv):
    """In turn each tosses a coin, and heads is out, with -1; the last one wins 3.

    A guest comes in with the second turn. An action other than "toss" is out too.
    """

    possible_agents = ("a", "b", "c", "d", "guest")

    def __init__(self) -> None:
        super().__init__()
        self.agent_selector = AgentSelector(self.possible_agents)

    def start(self):
        self.turn = 0
        self.agents = self.rng.sample(self.agents[:-1], 4)

    def observe(self, agent):
        return f"turn {self.turn}, still in: {' '.join(self.agents)}. toss!"

    def process_actions(self, actions):
        (agent,) = actions
        self.turn += 1
        if self.turn == 2:
            self.add_agent("guest")
        out = actions[agent] != "toss" or self.rng.random() < 0.5
        if out and len(self.agents) == 2:
            (winner,) = set(self.agents) - {agent}
            return {}, {agent: -1, winner: 3}, {agent: True, winner: True}, {}, {}
        return {}, {agent: -1 if out else 0}, {agent: out}, {}, {}

    def sample_action(self, agent, rng):
        return "toss"


class Counter(MultiAgentEnv):
    """One after another counts; asynchronous, and everybody is paid for each count."""

    possible_agents = ("a", "b", "c")

    def __init__(self) -> None:
        super().__init__()
        self.agent_selector = AgentSelector(self.possible_agents)

    async def start(self):
        self.count = self.rng.randint(0, 3)

    def observe(self, agent):
        return f"{agent} sees {self.count}"

    async def process_actions(self, actions):
        self.count += 1
        ended = dict.fromkeys(self.agents, self.count >= 10)
        infos = {agent: {f"info of {agent}": self.count} for agent in self.agents}
        return {}, dict.fromkeys(self.agents, 1.0), ended, {}, infos

    def sample_action(self, agent, rng):
        return rng.choice(["up", "down"])


@pytest.mark.slow
@pytest.mark.parametrize("env_class", [Duel, Chairs, Counter])
def test_an_environment_of_each_kind_keeps_the_contract(env_class, monkeypatch):
    if not thorough():
        monkeypatch.setattr("gem_rollout.multi_agent.checks.SEEDS", range(2))
    check_multi_agent_env(env_class).raise_for_findings()


class Scripted(MultiAgentEnv):
    """Returns what the test says."""

    possible_agents = ("a", "b", "c")
    result = ({}, {}, {}, {}, {})

    def observe(self, agent):
        return f"for {agent}"

    def process_actions(self, actions):
        return self.result() if callable(self.result) else self.result


@pytest.fixture
def env():
    env = Scripted()
    env.reset(seed=0)
    return env


class TestReset:
    def test_reset_gives_every_agent_its_observation_and_info(self):
        observations, infos = Duel().reset(seed=1, largest=5)
        assert observations == dict.fromkeys(("left", "right"), "A number from 1 to 5? Heard: ")
        assert infos == {"left": {"suffix": "You are on the left."}, "right": {}}

    def test_reset_takes_the_seed_by_position_too(self):
        first, second = Chairs(), Chairs()
        assert first.reset(7) == second.reset(seed=7)

    def test_reset_clears_flags_sums_messages_and_context(self):
        env = Duel(rounds=1)
        env.reset(seed=1)
        env.global_context = "rain"
        env.step({"left": "1", "right": "2"})
        assert env.truncations == {"left": True, "right": True}
        assert env.shared_memory
        env.reset()
        assert env.agents == ["left", "right"]
        assert env.terminations == env.truncations == {"left": False, "right": False}
        assert (env.shared_memory, env.global_context) == ([], "")
        assert env.get_state("left").reward == 0.0

    def test_reset_refuses_options_that_start_does_not_take(self):
        with pytest.raises(UnknownKwargError, match="reset of Duel takes no argument 'larges'"):
            Duel().reset(larges=3)

    def test_an_environment_without_agents_says_what_to_set(self):
        class Nobody(Scripted):
            possible_agents = ()

        with pytest.raises(GemError, match="set possible_agents"):
            Nobody().reset()

    def test_an_environment_need_not_call_the_constructor_of_its_base_class(self):
        class Forgetful(Scripted):
            def __init__(self):
                self.own = 1

        assert list(Forgetful().reset(seed=0)[0]) == ["a", "b", "c"]


ALL = {"a": "", "b": "", "c": ""}


class TestStep:
    def test_step_fills_in_what_the_environment_leaves_out(self, env):
        step = env.step(ALL)
        assert step == MultiAgentStep(
            {"a": "for a", "b": "for b", "c": "for c"},
            {"a": 0.0, "b": 0.0, "c": 0.0},
            dict.fromkeys("abc", False),
            dict.fromkeys("abc", False),
            {"a": {}, "b": {}, "c": {}},
        )

    def test_flags_that_are_returned_end_agents(self, env):
        env.result = ({}, {}, {"a": True}, {"b": True}, {})
        step = env.step(ALL)
        assert step.terminated == {"a": True, "b": False, "c": False}
        assert step.truncated == {"a": False, "b": True, "c": False}
        assert env.agents == ["c"]

    def test_flags_that_are_set_end_agents_too(self, env):
        def result():
            env.terminations["a"] = True
            return {}, {}, {}, {}, {}

        env.result = result
        assert env.step(ALL).terminated == {"a": True, "b": False, "c": False}
        assert env.agents == ["b", "c"]

    def test_an_environment_may_return_its_own_dicts_with_those_who_have_left(self, env):
        def result():
            env.terminations["a"] = True
            return {}, dict.fromkeys("abc", 0.0), env.terminations, env.truncations, env.infos

        env.result = result
        env.step(ALL)
        step = env.step({"b": "", "c": ""})
        assert step.terminated == {"b": False, "c": False}
        assert env.terminations["a"]

    def test_rewards_are_summed_by_agent(self, env):
        env.result = ({}, {"a": 1, "b": 0.5}, {}, {}, {})
        env.step(ALL)
        env.result = ({}, {"a": 2, "c": -1.0}, {"a": True}, {}, {"a": {"won": True}})
        assert env.step(ALL).rewards == {"a": 2.0, "b": 0.0, "c": -1.0}
        assert env.get_state("a") == ("for a", 3.0, True, False, {"won": True})
        assert env.get_state("b") == ("for b", 0.5, False, False, {})
        assert list(env.get_active_states()) == ["b", "c"]

    def test_the_episode_ends_with_the_last_agent(self, env):
        env.result = ({}, {}, dict.fromkeys("abc", True), {}, {})
        env.step(ALL)
        with pytest.raises(EpisodeEndedError, match="the episode has ended"):
            env.step({})

    def test_a_step_before_the_first_reset_is_an_error(self):
        with pytest.raises(EpisodeEndedError, match="no episode has been started"):
            Scripted().step({})
        assert Scripted().agents == []

    @pytest.mark.parametrize(
        ("actions", "message"),
        [
            ("abc", "takes a dict of actions keyed by agent; got a str. These act now: a, b, c"),
            ({"a": "", "b": ""}, "the action of 'c' is missing"),
            ({**ALL, "d": ""}, "'d' is not an agent of this episode"),
        ],
    )
    def test_joint_actions_that_do_not_fit_are_refused(self, env, actions, message):
        before = env.snapshot()
        with pytest.raises(ValueError, match=message) as caught:
            env.step(actions)
        assert caught.type is WrongAgentError
        assert env.snapshot() == before

    def test_agents_that_have_left_and_agents_out_of_turn_have_different_errors(self, env):
        env.agent_selector = AgentSelector(env.agents)
        env.result = ({}, {}, {"a": True}, {}, {})
        env.step({"a": ""})
        with pytest.raises(WrongAgentError, match=r"'a' has left\. These act now: b"):
            env.step({"a": "", "b": ""})
        with pytest.raises(WrongAgentError, match=r"'c' does not act now\. These act now: b"):
            env.step({"c": ""})

    @pytest.mark.parametrize(
        ("result", "message"),
        [
            (({}, {"d": 1.0}, {}, {}, {}), "rewards of 'd', which is not an agent of this episode"),
            (({}, {}, {"a": True}, {"a": True}, {}), "terminated and truncated both true for 'a'"),
        ],
    )
    def test_an_inconsistent_result_of_an_environment_is_an_error(self, env, result, message):
        env.result = result
        with pytest.raises(GemError, match=message):
            env.step(ALL)

    def test_a_reward_for_an_agent_that_has_left_is_an_error(self, env):
        env.result = ({}, {}, {"a": True}, {}, {})
        env.step(ALL)
        env.result = ({}, {"a": 1.0}, {}, {}, {})
        with pytest.raises(GemError, match="rewards of 'a', which has left"):
            env.step({"b": "", "c": ""})


class TestComingAndGoing:
    def test_an_agent_that_is_removed_is_terminated_and_may_come_back(self, env):
        env.result = lambda: (env.remove_agent("b"), ({}, {}, {}, {}, {}))[1]
        assert env.step(ALL).terminated == {"a": False, "b": True, "c": False}
        env.result = lambda: (env.add_agent("b"), ({}, {"b": 2.0}, {}, {}, {}))[1]
        step = env.step({"a": "", "c": ""})
        assert env.agents == ["a", "c", "b"]
        assert step.observations["b"] == "for b"
        assert not step.terminated["b"]
        assert env.get_state("b").reward == 2.0

    def test_adding_or_removing_an_agent_twice_changes_nothing(self, env):
        env.add_agent("a")
        env.remove_agent("b")
        env.remove_agent("b")
        env.remove_agent("stranger")
        assert env.agents == ["a", "c"]
        with pytest.raises(WrongAgentError, match="'stranger' is not an agent of this episode"):
            env.get_state("stranger")

    @settings(max_examples=EXAMPLES)
    @given(st.integers(1, 6), st.lists(st.sets(st.integers(0, 5)), max_size=8))
    def test_turns_go_round_in_order_whichever_agents_leave(self, size, leaving):
        env = Scripted()
        env.possible_agents = [str(number) for number in range(size)]
        env.agent_selector = AgentSelector(env.possible_agents)
        env.reset(seed=0)
        ring = deque(env.possible_agents)
        for numbers in leaving:
            assert env.active_agents == list(ring)[:1]
            if not ring:
                break
            gone = {str(number) for number in numbers} & set(ring)
            env.result = ({}, {}, dict.fromkeys(gone, True), {}, {})
            env.step({ring[0]: ""})
            ring.rotate(-1)
            ring = deque(name for name in ring if name not in gone)


class TestMessages:
    def test_messages_go_to_one_agent_or_to_all_others_that_are_present(self, env):
        env.send_message("a", "b", "hello")
        env.remove_agent("c")
        env.broadcast_message("b", "all")
        assert env.shared_memory == [
            {"from": "a", "to": "b", "message": "hello"},
            {"from": "b", "to": ["a"], "message": "all"},
        ]
        assert env.messages_to("a") == env.shared_memory[1:]
        assert env.messages_to("b") == [{"from": "a", "to": "b", "message": "hello"}]

    @pytest.mark.parametrize("names", [("a", "z"), ("z", "a")])
    def test_agents_that_are_not_present_neither_send_nor_receive_messages(self, env, names):
        with pytest.raises(WrongAgentError, match=r"'z' is not present\. Present: a, b, c"):
            env.send_message(*names, "hello")
        with pytest.raises(WrongAgentError, match="'z' is not present"):
            env.broadcast_message("z", "hello")
        assert env.shared_memory == []


class TestSelector:
    def test_a_sequential_selector_selects_one_agent_after_another(self):
        selector = AgentSelector(["a", "b"])
        assert (selector.selected, selector.is_first(), selector.is_last()) == ("a", True, False)
        selector.next()
        assert (selector.selected, selector.is_first(), selector.is_last()) == ("b", False, True)
        assert selector.get_active_agents() == ["b"]
        selector.next()
        assert selector.selected == "a"
        selector.reinit(["c"])
        assert (selector.selected, selector.is_first(), selector.is_last()) == ("c", True, True)

    def test_a_parallel_selector_always_selects_all_agents(self):
        selector = AgentSelector(["a", "b"], mode="parallel")
        active = selector.get_active_agents()
        active.clear()
        selector.next()
        assert selector.get_active_agents() == ["a", "b"]
        assert selector.selected == "a"

    def test_an_unknown_mode_of_a_selector_is_an_error_when_it_is_used(self):
        selector = AgentSelector(["a"], mode="paralel")
        with pytest.raises(ValueError, match="sequential or parallel; got 'paralel'"):
            selector.get_active_agents()

    @pytest.mark.parametrize(
        ("turns", "leaves", "selected", "then"),
        [
            (0, "a", "b", "b"),
            (0, "b", "a", "c"),
            (1, "a", "b", "c"),
            (1, "b", "a", "c"),
            (2, "c", "b", "a"),
            (2, "a", "c", "b"),
        ],
    )
    def test_a_selector_skips_nobody_when_an_agent_leaves(self, turns, leaves, selected, then):
        selector = AgentSelector(["a", "b", "c"])
        for _ in range(turns):
            selector.next()
        selector.remove_agent(leaves)
        assert selector.selected == selected
        selector.next()
        assert selector.selected == then

    def test_a_selector_may_be_empty_and_filled_again(self):
        selector = AgentSelector(["a"])
        selector.remove_agent("a")
        assert selector.selected is None
        assert selector.get_active_agents() == []
        assert not selector.is_first()
        assert not selector.is_last()
        selector.next()
        selector.add_agent("b")
        selector.add_agent("b")
        selector.next()
        assert selector.get_active_agents() == ["b"]

    @pytest.mark.slow
    @settings(max_examples=EXAMPLES)
    @given(st.integers(1, 6), st.lists(st.none() | st.integers(0, 5)))
    def test_a_selector_goes_round_like_a_ring(self, size, operations):
        """Compare with a ring whose first element is next; None turns it, a number leaves it."""
        names = [str(number) for number in range(size)]
        selector, ring = AgentSelector(names), deque(names)
        ring.rotate(-1)
        for number in operations:
            if number is not None:
                selector.remove_agent(str(number))
                ring = deque(name for name in ring if name != str(number))
            elif ring:
                selector.next()
                assert selector.selected == ring[0]
                ring.rotate(-1)
            assert (selector.selected is None) == (not ring)


class TestWhereOneAgentIsExpected:
    def test_make_returns_an_environment_for_several_agents_unwrapped(self):
        gem_core.register("test:DuelOfTwo-v0", Duel, rounds=2)
        env = gem_core.make("test:DuelOfTwo-v0", seed=3)
        assert isinstance(env, Duel)
        assert env.reset() == Duel().reset(seed=3)
        assert env.spec.id == "test:DuelOfTwo-v0"

    def test_wrappers_vectors_and_rollouts_refuse_several_agents_and_say_what_to_do(self):
        gem_core.register("test:WrappedDuel-v0", Duel)
        for use in (
            lambda: gem_core.make("test:WrappedDuel-v0", wrappers=["concat"]),
            lambda: gem_core.make("test:WrappedDuel-v0", tool_use={"max_tool_uses": 1}),
            lambda: gem_core.make_vec("test:WrappedDuel-v0"),
        ):
            with pytest.raises(ConfigError, match=r"Duel is for several agents.*as_single"):
                use()
        (trajectory,) = gem_rollout.collect(Duel, lambda: gem_core.make_agent("silent"), episodes=1)
        assert trajectory.error["type"] == "ConfigError"
        assert "as_single" in trajectory.error["message"]


def test_random_actions_are_repeatable_and_change_nothing():
    first, second = Duel(), Duel()
    for env in (first, second):
        env.reset(seed=4)
    assert [first.sample_random_action() for _ in range(5)] == [
        second.sample_random_action() for _ in range(5)
    ]
    assert first.sample_action("left", random.Random(1)) == str(random.Random(1).randint(1, 9))
    assert first.rng.getstate() == second.rng.getstate()
    first.close()
    with pytest.raises(NotImplementedError, match="does not sample"):
        Scripted().sample_action("a", random.Random(0))

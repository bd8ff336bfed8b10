"""The checks of environments for several agents find what they are made to find."""

import random
from typing import ClassVar

import pytest

from gem_core.testing import CheckFailedError
from gem_rollout import MultiAgentEnv
from gem_rollout.multi_agent import AgentSelector
from gem_rollout.testing import MULTI_AGENT_CHECKS, check_multi_agent_env


class Dice(MultiAgentEnv):
    """An environment that keeps the contract: in turn, guess a die, four times in all."""

    possible_agents = ("a", "b")

    def __init__(self) -> None:
        super().__init__()
        self.agent_selector = AgentSelector(self.possible_agents)

    def start(self):
        self.rolls = [self.rng.randint(1, 6) for _ in range(4)]

    def observe(self, agent):
        return f"{len(self.rolls)} rolls to go"

    def process_actions(self, actions):
        ((agent, action),) = actions.items()
        hit = action == str(self.rolls.pop())
        over = dict.fromkeys(self.agents, not self.rolls)
        return {}, {agent: float(hit)}, over, {}, {agent: {"hit": hit}}

    def sample_action(self, agent, rng):
        return str(rng.randint(1, 6))


def changed(result, **fields):
    """Return what ``process_actions`` returned, with some of it replaced."""
    names = ("observations", "rewards", "terminated", "truncated", "infos")
    return tuple(fields.get(name, value) for name, value in zip(names, result, strict=True))


class NoAgents(Dice):
    possible_agents = ()


class TwiceTheSame(Dice):
    possible_agents = ("a", "a")


class TakesAnyOption(Dice):
    def start(self, **options):
        super().start()


class NotOne:
    possible_agents = ("a",)


class ObservesNumbers(Dice):
    def observe(self, agent):
        return len(self.rolls)


class OddInfo(Dice):
    def process_actions(self, actions):
        return changed(super().process_actions(actions), infos={"a": {"suffix": 3}})


class InfiniteReward(Dice):
    def process_actions(self, actions):
        return changed(super().process_actions(actions), rewards={"a": float("inf")})


class OwnStep(Dice):
    def step(self, actions):
        return tuple(super().step(actions))


class UnnamedGuest(Dice):
    def process_actions(self, actions):
        result = super().process_actions(actions)
        if len(self.rolls) == 2:
            self.add_agent("guest")
        return result


class PaysStrangers(Dice):
    def process_actions(self, actions):
        return changed(super().process_actions(actions), rewards={"z": 1.0})


class EndsAndCuts(Dice):
    def process_actions(self, actions):
        over = dict.fromkeys(self.agents, len(self.rolls) == 1)
        return changed(super().process_actions(actions), truncated=over)


class NobodyActs(Dice):
    active_agents = property(lambda self: [] if len(self.rolls) == 2 else super().active_agents)


class TheDeadAct(Dice):
    active_agents = property(lambda self: ["a", "b"] if self.agents else [])

    def process_actions(self, actions):
        self.rolls.pop()
        return {}, {}, {"a": True, "b": not self.rolls}, {}, {}


class RemembersEpisodes(Dice):
    episodes = 0

    def observe(self, agent):
        return f"episode {self.episodes}"

    def start(self):
        super().start()
        self.episodes += 1


class SeedIsIgnored(Dice):
    def start(self):
        super().start()
        self.rolls = random.SystemRandom().choices(range(1, 7), k=4)


class NeverVaries(Dice):
    def start(self):
        self.rolls = [1, 2, 3, 4]


class UsesGlobalRandom(Dice):
    def start(self):
        self.rolls = [random.randint(1, 6) for _ in range(4)]


class SamplesFromTheEpisodeStream(Dice):
    def sample_action(self, agent, rng):
        return str(self.rng.randint(1, 6))

    def process_actions(self, actions):
        self.rolls[-1] = self.rng.randint(1, 6)
        return super().process_actions(actions)


class ObservingChanges(Dice):
    def observe(self, agent):
        self.seen = getattr(self, "seen", 0) + 1
        return f"seen {self.seen} times"


class KeepsStateElsewhere(Dice):
    kept: ClassVar[list] = []

    def start(self):
        super().start()
        self.kept.clear()

    def process_actions(self, actions):
        self.kept.append(actions)
        return changed(super().process_actions(actions), infos={"a": {"turns": len(self.kept)}})


class CannotBeCopied(Dice):
    def start(self):
        super().start()
        self.stream = (number for number in range(3))


class AcceptsAnything(Dice):
    def _check_actions(self, actions):
        pass

    def process_actions(self, actions):
        return super().process_actions({self.active_agents[0]: str(actions)})


class RefusesLate(Dice):
    def step(self, actions):
        self.tries = getattr(self, "tries", 0) + 1
        return super().step(actions)


class GoesOnAfterTheEnd(Dice):
    def step(self, actions):
        if not self.agents and self._ended:
            self.reset()
            actions = self.sample_random_action()
        return super().step(actions)


class RaisesOnOddText(Dice):
    def process_actions(self, actions):
        return super().process_actions({agent: str(int(text)) for agent, text in actions.items()})


class LosesCount(Dice):
    def get_state(self, agent=None):
        state = super().get_state(*([] if agent is None else [agent]))
        return state if agent is None else state._replace(reward=0.0)


class OddSecret(Dice):
    """Its agents cannot be told from what it saves: a view of it goes another way."""

    def seed(self, seed):
        super().seed(seed if self._seed is None else self._seed + 1)


BROKEN = {
    NoAgents: "construction",
    TwiceTheSame: "construction",
    TakesAnyOption: "construction",
    NotOne: "construction",
    ObservesNumbers: "types",
    OddInfo: "types",
    InfiniteReward: "types",
    OwnStep: "types",
    UnnamedGuest: "types",
    PaysStrangers: "types",
    EndsAndCuts: "types",
    NobodyActs: "turns",
    TheDeadAct: "turns",
    RemembersEpisodes: "determinism",
    SeedIsIgnored: "determinism",
    OddSecret: "determinism",
    NeverVaries: "variation",
    UsesGlobalRandom: "randomness",
    SamplesFromTheEpisodeStream: "randomness",
    ObservingChanges: "randomness",
    KeepsStateElsewhere: "snapshots",
    CannotBeCopied: "snapshots",
    AcceptsAnything: "joint_actions",
    RefusesLate: "joint_actions",
    GoesOnAfterTheEnd: "ends",
    RaisesOnOddText: "odd_actions",
    LosesCount: "sums",
}


@pytest.mark.slow
def test_an_environment_that_keeps_the_contract_has_no_findings():
    report = check_multi_agent_env(Dice)
    assert report.ok, report.findings
    assert report.subject == "Dice"


@pytest.mark.slow
def test_each_defect_is_found_by_the_check_for_it(subtests):
    for env_class, check in BROKEN.items():
        with subtests.test(env_class.__name__):
            report = check_multi_agent_env(env_class, checks=[check])
            assert [finding.check for finding in report.findings] == [check]


def test_defects_are_found_in_views_and_trajectories_too():
    class LosesCountAndRemembers(LosesCount, RemembersEpisodes):
        pass

    report = check_multi_agent_env(LosesCountAndRemembers, checks=["trajectories", "views"])
    assert [finding.check for finding in report.findings] == ["trajectories", "views"]
    assert "add up to" in report.findings[0].message
    assert "determinism" in report.findings[1].message
    with pytest.raises(CheckFailedError, match="LosesCountAndRemembers"):
        report.raise_for_findings()


@pytest.mark.slow
def test_a_game_with_a_single_start_can_declare_it():
    assert check_multi_agent_env(NeverVaries, varies=False).ok
    (finding,) = check_multi_agent_env(Dice, varies=False, checks=["variation"]).findings
    assert "episodes differ" in finding.message


def test_every_check_has_a_description_and_finds_a_defect():
    assert all(check.__doc__ for check in MULTI_AGENT_CHECKS.values())
    assert set(MULTI_AGENT_CHECKS) == {*BROKEN.values(), "trajectories", "views"}

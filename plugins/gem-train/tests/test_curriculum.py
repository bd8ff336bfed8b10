"""Curricula and their reactions to episodes."""

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import some, thorough
from simple_episodes import trajectory

import gem_core
from gem_core.agent import OracleAgent
from gem_core.errors import ConfigError, UnknownIdError, UnknownKwargError
from gem_core.plugins import default_registry
from gem_core.resolve import resolve
from gem_rollout import Component, Report, collect
from gem_train.curriculum import Levels
from gem_train.parts import make_part
from gem_train.specs import CURRICULA

IDS = [spec.id for spec in default_registry().list(CURRICULA)]
NAMES = ["easy", "middle", "hard"]


def sources(*names):
    return {name: Component(lambda: None, weight=1 + place) for place, name in enumerate(names)}


def made(name, names=NAMES, **options):
    return make_part(CURRICULA, {"id": name, **options}, sources(*names))


def observe(sampler, source, *successes, **more):
    for success in successes:
        sampler.update(trajectory(success=bool(success), component=source, **more))


def shares(sampler):
    weights = sampler.weights(Report())
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()}


OPTIONS = {
    "fixed": [{}, {"weights": {"easy": 3}}],
    "levels": [{"episodes": 3}, {"episodes": 4, "threshold": 0.5, "fall_back": 0.25, "earlier": 0}],
    "learning_progress": [{}, {"fast": 2, "slow": 5, "floor": 0.5}],
}
CASES = [(name, options) for name in IDS for options in OPTIONS[name]]
EPISODES = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from([True, False, None]), st.booleans()),
    max_size=60,
)
SOME = settings(max_examples=100 if thorough() else 12)


class TestEveryCurriculum:
    @pytest.mark.slow
    @pytest.mark.parametrize(("name", "options"), CASES)
    @SOME
    @given(episodes=EPISODES)
    def test_weights_are_of_all_sources_in_order_and_not_all_zero(self, name, options, episodes):
        sampler = made(name, **options)
        for source, success, failed in episodes:
            error = "env" if failed else None
            sampler.update(trajectory(success=success, component=source, error=error))
            weights = sampler.weights(Report())
            assert list(weights) == NAMES
            assert min(weights.values()) >= 0
            assert sum(weights.values()) > 0

    @pytest.mark.slow
    @pytest.mark.parametrize(("name", "options"), CASES)
    @SOME
    @given(before=EPISODES, after=EPISODES)
    def test_a_sampler_goes_on_exactly_from_a_state_that_was_written_as_json(
        self, name, options, before, after
    ):
        one, other = made(name, **options), made(name, **options)
        for source, success, _ in before:
            one.update(trajectory(success=success, component=source))
        other.load_state_dict(json.loads(json.dumps(one.state_dict())))
        for source, success, _ in after:
            for sampler in (one, other):
                sampler.update(trajectory(success=success, component=source))
        assert one.weights(Report()) == other.weights(Report())
        assert one.state_dict() == other.state_dict()

    @pytest.mark.parametrize(("name", "options"), CASES)
    def test_a_state_is_not_the_samplers_own(self, name, options):
        sampler = made(name, **options)
        observe(sampler, "easy", 1, 0)
        state = json.dumps(sampler.state_dict())
        kept = sampler.state_dict()
        observe(sampler, "easy", 1, 1)
        assert json.dumps(kept) == state

    @pytest.mark.parametrize(("name", "options"), CASES)
    def test_a_state_of_other_sources_is_refused(self, name, options):
        state = made(name, ["easy", "hard"], **options).state_dict()
        with pytest.raises(
            ConfigError, match="sources easy, hard; this run has easy, middle, hard"
        ):
            made(name, **options).load_state_dict(state)

    @pytest.mark.parametrize("name", ["levels", "learning_progress"])
    def test_episodes_with_errors_do_not_count(self, name):
        sampler = made(name)
        before = sampler.state_dict()
        observe(sampler, "easy", *[0] * 200, error="sandbox")
        assert sampler.state_dict() == before

    @pytest.mark.parametrize("name", ["levels", "learning_progress"])
    def test_an_episode_of_no_source_is_reported(self, name):
        with pytest.raises(ConfigError, match=r"There is no source 'esay'.*Did you mean 'easy'"):
            observe(made(name), "esay", 1)

    def test_a_typo_in_a_curriculum_is_reported(self):
        with pytest.raises(UnknownIdError, match="Did you mean 'levels'"):
            made("level")
        with pytest.raises(
            UnknownKwargError, match="curriculum 'levels' takes no argument 'thresh"
        ):
            made("levels", threshhold=0.5)

    def test_parameters_are_those_that_can_be_given(self):
        assert resolve(CURRICULA, "levels").parameters() == {
            "threshold": 0.8,
            "episodes": 64,
            "earlier": 0.2,
            "fall_back": None,
        }
        for name in IDS:
            parameters = resolve(CURRICULA, name).parameters()
            assert made(name, **parameters).state_dict() == made(name).state_dict()

    @pytest.mark.parametrize(
        ("name", "options", "match"),
        [
            ("fixed", {"weights": {"eazy": 1}}, "no source 'eazy'"),
            ("fixed", {"weights": {"easy": -1}}, "0 or more"),
            ("fixed", {"weights": {"easy": float("nan")}}, "finite"),
            ("fixed", {"weights": {}}, "above 0"),
            ("levels", {"threshold": 0}, "threshold"),
            ("levels", {"threshold": float("nan")}, "threshold"),
            ("levels", {"episodes": 0}, "episodes"),
            ("levels", {"earlier": 1}, "earlier"),
            ("levels", {"fall_back": 0.8}, "fall_back"),
            ("learning_progress", {"fast": 1}, "fast"),
            ("learning_progress", {"fast": 64, "slow": 64}, "slow"),
            ("learning_progress", {"floor": 0}, "floor"),
        ],
    )
    def test_invalid_parameters_of_a_curriculum_are_refused(self, name, options, match):
        with pytest.raises(ConfigError, match=match):
            made(name, **options)

    @pytest.mark.parametrize("name", ["levels", "learning_progress"])
    def test_a_curriculum_without_sources_is_refused(self, name):
        with pytest.raises(ConfigError, match="at least one source"):
            made(name, [])


class TestFixed:
    def test_weights_are_the_sources_own_or_those_given(self):
        assert made("fixed").weights(Report()) == {"easy": 1, "middle": 2, "hard": 3}
        given_ones = made("fixed", weights={"hard": 2, "easy": 1})
        assert given_ones.weights(Report()) == {"easy": 1, "middle": 0, "hard": 2}


class TestLevels:
    def test_the_next_level_begins_when_the_last_episodes_are_good_enough(self):
        sampler = made("levels", episodes=4, threshold=0.75, earlier=0.2)
        assert shares(sampler) == {"easy": 1, "middle": 0, "hard": 0}
        observe(sampler, "easy", 0, 1, 1)
        assert sampler.level == 0
        observe(sampler, "easy", 1)
        assert shares(sampler) == pytest.approx({"easy": 0.2, "middle": 0.8, "hard": 0})
        observe(sampler, "easy", *[1] * 20)
        assert sampler.level == 1
        observe(sampler, "middle", *[1] * 4)
        assert shares(sampler) == pytest.approx({"easy": 0.1, "middle": 0.1, "hard": 0.8})
        observe(sampler, "hard", *[1] * 9)
        assert sampler.level == 2

    def test_the_previous_level_returns_only_with_fall_back(self):
        stays, falls = (
            made("levels", episodes=2, threshold=1, fall_back=low) for low in (None, 0.5)
        )
        for sampler in (stays, falls):
            observe(sampler, "easy", 0, 0, 1, 1)
            assert sampler.level == 1
            observe(sampler, "middle", 0, 1)
            assert sampler.level == 1
            observe(sampler, "middle", 0, 0)
        assert (stays.level, falls.level) == (1, 0)
        observe(falls, "easy", 1, 1)
        assert falls.level == 1

    def test_without_a_share_earlier_levels_are_left(self):
        sampler = made("levels", episodes=1, earlier=0)
        observe(sampler, "easy", 1)
        assert shares(sampler) == {"easy": 0, "middle": 1, "hard": 0}


class TestLearningProgress:
    def test_sources_without_progress_have_equal_shares(self):
        sampler = made("learning_progress")
        assert shares(sampler) == pytest.approx(dict.fromkeys(NAMES, 1 / 3))
        observe(sampler, "easy", *[1] * 500)
        observe(sampler, "hard", *[0] * 500)
        assert shares(sampler) == pytest.approx(dict.fromkeys(NAMES, 1 / 3))
        assert sampler.progress("easy") == 0

    @pytest.mark.parametrize("moves", [[0] * 300 + [1] * 60, [1] * 300 + [0] * 60])
    def test_sources_with_changing_success_get_the_largest_share(self, moves):
        sampler = made("learning_progress", floor=0.3)
        observe(sampler, "middle", *moves)
        observe(sampler, "easy", *[1] * 360)
        found = shares(sampler)
        assert found["middle"] > 0.75
        assert found["easy"] == found["hard"] >= 0.1

    def test_averages_are_those_of_weights_that_sum_to_one(self):
        rng = random.Random(3)
        successes = [rng.randrange(2) for _ in range(50)]
        sampler = made("learning_progress", fast=4, slow=20)
        observe(sampler, "easy", *successes)

        def average(reach):
            weights = [(1 - 1 / reach) ** (49 - place) for place in range(50)]
            return sum(w * s for w, s in zip(weights, successes, strict=True)) / sum(weights)

        assert sampler.progress("easy") == pytest.approx(abs(average(4) - average(20)))


class Learner:
    """Success at a level rises with practice, once the previous level is mastered."""

    def __init__(self, names, hopeless=(), solved=()):
        self.names, self.hopeless, self.solved = list(names), hopeless, solved
        self.practice = dict.fromkeys(names, 0)

    def success(self, name):
        if name in self.hopeless or name in self.solved:
            return float(name in self.solved)
        return min(0.95, 0.02 + self.practice[name] / 1000)

    def may_learn(self, name):
        place = self.names.index(name)
        return place == 0 or self.success(self.names[place - 1]) >= 0.7

    def train(self, sampler, steps, seed, episodes=64):
        """Return the share of each source in each step."""
        rng, played = random.Random(seed), []
        for _ in range(steps):
            weights = sampler.weights(Report())
            names = rng.choices(list(weights), list(weights.values()), k=episodes)
            results = [(name, rng.random() < self.success(name)) for name in names]
            for name, success in results:
                self.practice[name] += self.may_learn(name)
                observe(sampler, name, success)
            played.append({name: names.count(name) / episodes for name in self.names})
        return played

    def steps_to_mastery(self, sampler, seed):
        for step in range(1, 1000):
            self.train(sampler, 1, 1000 * seed + step)
            if all(self.success(name) > 0.9 for name in self.names):
                return step
        return 1000


@pytest.mark.parametrize("seed", some(range(5)))
class TestASimulatedLearner:
    def test_learning_progress_prefers_sources_that_can_be_learned(self, seed):
        names = ["learnable", "solved", "hopeless"]
        learner = Learner(names, hopeless=["hopeless"], solved=["solved"])
        late = learner.train(made("learning_progress", names), 20, seed)[8:]
        share = {name: sum(step[name] for step in late) / len(late) for name in names}
        assert share["learnable"] > 0.6
        assert share["solved"] < 0.25
        assert share["hopeless"] < 0.25

    @pytest.mark.slow
    def test_learning_progress_masters_levels_sooner_than_equal_shares_do(self, seed):
        adapted = Learner(NAMES).steps_to_mastery(made("learning_progress"), seed)
        equal = made("fixed", weights=dict.fromkeys(NAMES, 1))
        assert adapted < 0.9 * Learner(NAMES).steps_to_mastery(equal, seed)

    def test_levels_reach_the_last_one(self, seed):
        learner, sampler = Learner(NAMES), made("levels", threshold=0.8)
        played = learner.train(sampler, 80, seed)
        assert sampler.level == 2
        assert played[0] == {"easy": 1, "middle": 0, "hard": 0}
        assert 0.7 < played[-1]["hard"] < 1
        assert learner.success("hard") > 0.9

    def test_levels_stay_where_nothing_is_learned(self, seed):
        sampler = made("levels")
        Learner(NAMES, hopeless=["middle"]).train(sampler, 80, seed)
        assert sampler.level == 1


def test_the_rollouts_engine_takes_it_and_levels_of_a_game_are_sources_of_a_mixture():
    ids = [f"game:GuessTheNumber-v0-{level}" for level in ("easy", "hard")]
    mixture = {name: Component(lambda name=name: gem_core.make(name), weight=1.0) for name in ids}
    part = {"id": "levels", "episodes": 4, "earlier": 0.0}
    sampler = make_part(CURRICULA, part, mixture)
    assert isinstance(sampler, Levels)
    episodes = list(collect(mixture, OracleAgent, episodes=12, concurrency=1, sampler=sampler))
    assert [one.component for one in episodes[:4]] == ids[:1] * 4
    assert {one.component for one in episodes[6:]} == {ids[1]}
    assert sampler.level == 1

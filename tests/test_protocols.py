"""The protocols are true: objects with just their members work everywhere."""

import copy
import pickle
import random

import gem_core
from gem_core import Agent, Env, EnvSpec, Step, make, make_vec
from gem_core.errors import EpisodeEndedError
from gem_core.testing import check_agent, check_env


class PlainEnv:
    """Guess a digit. It has the members of ``Env`` and no others, and no base class of ours."""

    blocking = False

    def __init__(self, *, digits: int = 10) -> None:
        self._state = {"digits": digits, "answer": None, "seed": None, "episode": 0, "drawn": 0}

    @property
    def spec(self):
        return None

    @property
    def unwrapped(self):
        return self

    def reset(self, *, seed=None, **options):
        if seed is not None:
            self._state.update(seed=seed, episode=0)
        elif self._state["seed"] is None:
            self._state["seed"] = random.SystemRandom().getrandbits(32)
        self._state["episode"] += 1
        self._state["drawn"] = 0
        draw = random.Random(f"{self._state['seed']}, {self._state['episode']}")
        self._state["answer"] = draw.randrange(self._state["digits"])
        return f"A digit? (parity {self._state['answer'] % 2})", {}

    def step(self, action):
        if self._state["answer"] is None:
            raise EpisodeEndedError("reset first")
        answer, self._state["answer"] = self._state["answer"], None
        return Step("over", float(action == str(answer)), True, False, {})

    def sample_random_action(self):
        self._state["drawn"] += 1
        draw = random.Random(f"{self._state['seed']}, {self._state['drawn']}")
        return str(draw.randrange(self._state["digits"]))

    def snapshot(self):
        return pickle.dumps(self._state)

    def restore(self, snapshot):
        self._state = pickle.loads(snapshot)  # noqa: S301 - made here

    def fork(self):
        return copy.deepcopy(self)

    def spawn(self, *, seed=None, same_state=False):
        twin = self.fork()
        if not same_state:
            twin._state.update(answer=None, seed=seed, episode=0)
        return twin

    def close(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class PlainAgent:
    def reset(self, env):
        self.env = env

    def act(self, observation, info):
        return self.env.sample_random_action()

    def close(self):
        pass


SPEC = EnvSpec(id="plain:Digit", entry_point=PlainEnv)


def test_plain_objects_fit_the_protocols() -> None:
    assert isinstance(PlainEnv(), Env)
    assert isinstance(PlainAgent(), Agent)


def test_make_seeds_an_environment_that_has_no_seed_method() -> None:
    first = [make(SPEC, seed=3).reset() for _ in range(2)]
    assert first[0] == first[1]
    assert len({make(SPEC, seed=seed).reset()[0] for seed in range(20)}) > 1


def test_a_plain_environment_can_be_wrapped_and_forked() -> None:
    env = make(SPEC, wrappers=["concat", "episode_tracking"])
    env.reset(seed=1)
    action = env.sample_random_action()
    assert env.fork().step(action) == env.step(action)


def test_a_vector_runs_plain_environments() -> None:
    with make_vec(SPEC, num_envs=4, seed=0, executor="threads") as vector:
        observations, _ = vector.reset()
        assert len(observations) == 4
        vector.step(vector.sample_random_actions())


def test_the_conformance_kit_has_no_findings_on_a_plain_environment() -> None:
    check_env(SPEC, episodes=5).raise_for_findings()


def test_the_conformance_kit_has_no_findings_on_a_plain_agent() -> None:
    check_agent(PlainAgent).raise_for_findings()


def test_an_agent_that_forgets_to_start_again_is_found() -> None:
    class Counts(PlainAgent):
        count = 0

        def act(self, observation, info):
            self.count += 1
            return str(self.count)

    assert [finding.check for finding in check_agent(Counts).findings] == ["reset"]


def test_register_takes_the_fields_of_a_spec() -> None:
    spec = gem_core.register(
        "plain:Registered",
        PlainEnv,
        kwargs={"digits": 3},
        description="Guess a digit.",
        return_range=(0.0, 1.0),
    )
    assert spec.description == "Guess a digit."
    assert spec.kwargs == {"digits": 3}
    observation, _ = gem_core.make("plain:Registered", digits=5).reset(seed=0)
    assert observation.startswith("A digit?")

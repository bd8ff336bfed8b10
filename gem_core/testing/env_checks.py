"""The contract of environments, one check for each part of it."""

import asyncio
import contextlib
import functools
import itertools
import json
import math
import random
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any, NamedTuple

from gem_core.agent import Agent, OracleAgent, RandomAgent, Reply, SilentAgent
from gem_core.env import Env, Step
from gem_core.errors import (
    EpisodeEndedError,
    GemError,
    NoMachineError,
    NoRandomActionError,
    UnknownKwargError,
)
from gem_core.factory import EnvFactory, make_factory
from gem_core.faults import boundary_of
from gem_core.maybe_async import is_awaitable, then
from gem_core.observation import Action, Info, Observation
from gem_core.optional import reset_options, seed_agent
from gem_core.resolve import resolve
from gem_core.seeding import child_seed
from gem_core.specs import ENVS, EnvSpec
from gem_core.testing.odd_actions import ODD_TEXTS, odd_variants
from gem_core.testing.report import CheckFailedError, Report, require, run_checks

__all__ = [
    "ENV_CHECKS",
    "MOST_STEPS",
    "Bench",
    "EpisodeRewards",
    "check_env",
    "check_info",
    "check_observation",
    "now",
    "numpy_state",
]

MOST_STEPS = 200
"""Steps after which a check stops an episode that does not end."""
ORACLE_SHARE = 0.95
"""Share of the largest return that an oracle must reach on average, unless its spec says less."""


class EpisodeRewards(NamedTuple):
    """The rewards of an episode, a number for each step."""

    rewards: list[float]

    @property
    def episode_return(self) -> float:
        """Undiscounted sum of the rewards."""
        return sum(self.rewards)


class Bench:
    """The input of a check: the environment's factory, and ways to play.

    Args:
        factory: Makes the environment.
        episodes: Episodes for each measure.
        facts: Receives the measurements of the checks.
    """

    def __init__(self, factory: EnvFactory, episodes: int, facts: dict[str, Any]) -> None:
        self.factory = factory
        self.spec = factory.spec
        self.episodes = episodes
        self.facts = facts
        self.only_odd_texts = False
        """Whether there was nothing better to play: no sampled action, oracle or example."""

    def make(self) -> Env:
        """Make a fresh environment."""
        return self.factory()

    def reset(self, env: Env, seed: int | None = 0) -> tuple[Observation, Info]:
        """Reset, and wait if it is asynchronous."""
        observation, info = now(env.reset(seed=seed))
        return observation, _seeded(env, info)

    def step(self, env: Env, action: Action) -> Step:
        """Step, and wait if it is asynchronous."""
        step: Step = now(env.step(action))
        return step._replace(info=_seeded(env, step.info)) if isinstance(step, Step) else step

    def transcript(
        self, env: Env, seed: int | None, actions: Iterable[Action] | None = None
    ) -> list[Any]:
        """Play an episode, by default with random actions; return all observations and actions."""
        return [self.reset(env, seed), *self.steps(env, actions)]

    def steps(self, env: Env, actions: Iterable[Action] | None = None) -> Iterator[Any]:
        """Play on from the current state; yield each action and its step."""
        actions = self._random_actions(env) if actions is None else iter(actions)
        for _, action in zip(range(MOST_STEPS), actions, strict=False):
            step = self.step(env, action)
            yield action, step
            if step.terminated or step.truncated:
                return

    def _random_actions(self, env: Env) -> Iterator[Action]:
        """Yield random actions; of an environment that samples none, the same ones each time."""
        with contextlib.suppress(NotImplementedError):
            while True:
                yield env.sample_random_action()
        yield from itertools.cycle(self._fallback)

    @functools.cached_property
    def _fallback(self) -> list[Action]:
        """The spec's examples, what the oracle plays in three episodes, and odd texts.

        A text that raises is left out: ``odd_actions`` reports it, the other checks go on.
        """
        played: list[Action] = [*self.spec.examples]
        if self.spec.oracle is not None:
            agent = _Recorder(played)
            self.play(lambda: agent, 3)
        self.only_odd_texts = not played
        return [*played, *filter(self._is_taken, ODD_TEXTS)]

    def _is_taken(self, text: str) -> bool:
        """Return whether an episode may begin with an action."""
        env = self.make()
        self.reset(env)
        try:
            self.step(env, text)
        except Exception:  # noqa: BLE001 - of any kind
            return False
        finally:
            env.close()
        return True

    def random_action(self, env: Env) -> Action:
        """Return a random action for the current state."""
        return next(self._random_actions(env), "")

    def play(
        self, make_agent: Callable[[], Agent], episodes: int | None = None
    ) -> list[EpisodeRewards]:
        """Play episodes with an agent; an error in one is a failure of the check."""
        env, agent = self.make(), make_agent()
        count = self.episodes if episodes is None else episodes
        played = [self._episode(env, agent, child_seed(0, index), index) for index in range(count)]
        env.close()
        return played

    def _episode(self, env: Env, agent: Agent, seed: int, index: int) -> EpisodeRewards:
        source, rewards = "env", []
        try:
            options = reset_options(env, index)
            observation, info = now(env.reset(seed=seed, **options))
            source = "agent"
            agent.reset(env)
            seed_agent(agent, seed)
            ended = False
            while not ended:
                source = "agent"
                reply = now(agent.act(observation, info))
                source = "env"
                step = self.step(env, reply.action if isinstance(reply, Reply) else reply)
                observation, info = step.observation, step.info
                rewards.append(step.reward)
                ended = step.terminated or step.truncated
        except (NoMachineError, NoRandomActionError):
            raise
        except Exception as error:
            raise CheckFailedError(
                f"with seed {seed} the {boundary_of(error, source)} raised "
                f"{type(error).__name__}: {error}"
            ) from error
        return EpisodeRewards(rewards)


class _Recorder(OracleAgent):
    """The oracle, whose actions are added to a list."""

    def __init__(self, actions: list[Action]) -> None:
        self._actions = actions

    def act(self, observation: Observation, info: Info) -> Any:
        return then(super().act(observation, info), self._noted)

    def _noted(self, reply: Action | Reply) -> Action | Reply:
        self._actions.append(reply.action if isinstance(reply, Reply) else reply)
        return reply


def check_env(
    env: str | EnvSpec | EnvFactory, *, episodes: int = 20, checks: Iterable[str] | None = None
) -> Report:
    """Check an environment against the contract.

    Args:
        env: Its id, spec or factory.
        episodes: Episodes for each measure (oracle, random agent).
        checks: Names from ``ENV_CHECKS``; None for all.

    Raises:
        UnknownIdError: Nobody registered the id.
    """
    if not isinstance(env, EnvFactory):
        spec = resolve(ENVS, env)
        env = make_factory(spec, kwargs=spec.check_kwargs)
    factory = env
    report = Report(factory.spec.id)
    return run_checks(report, ENV_CHECKS, lambda: Bench(factory, episodes, report.facts), checks)


def now(value: Any) -> Any:
    """Return the value, or its result if it is awaitable."""
    if not is_awaitable(value):
        return value

    async def wait(awaitable: Awaitable[Any]) -> Any:
        return await awaitable

    return asyncio.run(wait(value))


def _seeded(env: Env, info: Info) -> Info:
    """Return the part of an info that the seed decides; another check finds what is not a dict."""
    others = getattr(env.unwrapped, "unseeded_info", ())
    if not others or not isinstance(info, dict):
        return info
    return {name: value for name, value in info.items() if name not in others}


def _construction(bench: Bench) -> None:
    """It can be made, is an ``Env``, refuses unknown parameters, and can be closed twice."""
    env = bench.make()
    require(isinstance(env, Env), f"{type(env).__name__} lacks methods of the Env protocol")
    require(isinstance(env.blocking, bool), "blocking must be True or False")
    env.close()
    env.close()
    try:
        bench.spec.make(no_such_parameter=1)
    except UnknownKwargError:
        return
    raise CheckFailedError("a parameter that does not exist was silently accepted")


def _types(bench: Bench) -> None:
    """Observations, rewards, flags and infos have the types of the protocol."""
    env = bench.make()
    observation, info = bench.reset(env)
    check_observation(observation)
    check_info(info)
    for _, step in bench.steps(env):
        require(type(step) is Step, f"step returned a {type(step).__name__}, not a Step")
        check_observation(step.observation)
        check_info(step.info)
        require(type(step.reward) is float, f"the reward must be a float; got {step.reward!r}")
        require(math.isfinite(step.reward), f"the reward must be finite; got {step.reward!r}")
        flags = (step.terminated, step.truncated)
        require(all(type(flag) is bool for flag in flags), f"flags must be bools; got {flags!r}")
        require(not all(flags), "terminated and truncated are both true")


def check_observation(observation: Observation) -> None:
    """Require text, or a dict that contains a text."""
    is_text = isinstance(observation, str)
    has_text = isinstance(observation, dict) and any(
        isinstance(value, str) for value in observation.values()
    )
    require(
        is_text or has_text,
        f"an observation is text, or a dict that contains a text; got {type(observation).__name__}",
    )


def check_info(info: Info) -> None:
    """Require a dict whose keys, prefix and suffix are text."""
    require(isinstance(info, dict), f"info must be a dict; got {type(info).__name__}")
    for key in ("prefix", "suffix"):
        require(isinstance(info.get(key, ""), str), f"info[{key!r}] must be text")
    require(all(isinstance(key, str) for key in info), "the keys of info must be text")
    json.dumps(info, default=repr)


def _determinism(bench: Bench) -> None:
    """The same seed gives the same episode: in another instance, and after other episodes."""
    used = bench.make()
    for seed in range(3):
        first = bench.transcript(bench.make(), seed)
        require(bench.transcript(bench.make(), seed) == first, f"seed {seed} gave two episodes")
        bench.transcript(used, seed + 1000)
        again = bench.transcript(used, seed)
        require(again == first, f"seed {seed} gave another episode after an earlier one")
    bench.reset(used, 5)
    unseeded = [bench.transcript(used, None) for _ in range(2)]
    bench.reset(used, 5)
    repeated = [bench.transcript(used, None) for _ in range(2)]
    require(unseeded == repeated, "resets without a seed do not follow from the last seed")


def _variation(bench: Bench) -> None:
    """Different seeds give different episodes, or the same one if the spec says so."""
    env = bench.make()
    bench.reset(env, 0)
    actions = [action for action, _ in bench.steps(env)]
    transcripts = [repr(bench.transcript(env, seed, actions)) for seed in range(20)]
    distinct = len(set(transcripts))
    bench.facts["distinct starts of 20"] = distinct
    if bench.spec.varies:
        differ = distinct > 1 or bench.only_odd_texts  # whose answer may always be the same
        require(differ, "20 seeds gave the same episode")
    else:
        require(distinct == 1, "the spec says varies=False, but episodes differ")


def _randomness(bench: Bench) -> None:
    """Global random state is not used or changed; sampling actions does not change episodes."""
    random.seed(1)
    before = random.getstate(), numpy_state()
    first = bench.transcript(bench.make(), 3)
    require((random.getstate(), numpy_state()) == before, "global random state was changed")
    random.seed(2)
    require(bench.transcript(bench.make(), 3) == first, "global random state was used")
    env = bench.make()
    bench.reset(env, 3)
    for _ in range(7):
        bench.random_action(env)
    actions = [action for action, _ in first[1:]]
    require([*bench.steps(env, actions)] == first[1:], "sampling actions changed the episode")


def numpy_state() -> str:
    """Return the state of numpy's global generator; empty if numpy is not imported."""
    numpy = sys.modules.get("numpy")
    return "" if numpy is None else repr(numpy.random.get_state())


def _snapshots(bench: Bench) -> None:
    """Forks and restored environments play on exactly as the original, from several turns."""
    for turns in (0, 1, 3):
        env = bench.make()
        bench.reset(env, turns)
        for _, (_, step) in zip(range(turns), bench.steps(env), strict=False):
            if step.terminated or step.truncated:
                bench.reset(env, None)
        snapshot = env.snapshot()
        require(isinstance(snapshot, bytes), "snapshot() must return bytes")
        fork, spawned = env.fork(), env.spawn(same_state=True)
        original = _outcome(bench, env)
        require(_outcome(bench, fork) == original, f"a fork after {turns} turns plays differently")
        require(_outcome(bench, spawned) == original, "spawn(same_state=True) plays differently")
        env.restore(snapshot)
        require(_outcome(bench, env) == original, f"restore after {turns} turns plays differently")
        other = bench.make()
        other.restore(snapshot)
        require(_outcome(bench, other) == original, "a snapshot does not restore another instance")
        fresh = env.spawn(seed=9)
        require(
            bench.transcript(fresh, None) == bench.transcript(env.spawn(seed=9), None),
            "spawn(seed=9) twice gives two episodes",
        )


def _outcome(bench: Bench, env: Env) -> list[Any]:
    """Play the episode to its end, and the next one, without a seed."""
    return [*bench.steps(env), bench.transcript(env, None)]


def _ends(bench: Bench) -> None:
    """A step before the first reset or after the end raises; a reset starts a new episode."""
    env = bench.make()
    _require_refusal(bench, env, "", "before the first reset")
    bench.reset(env)
    action: Action = ""
    for action, step in bench.steps(env):
        if step.terminated or step.truncated:
            _require_refusal(bench, env, action, "after the end")
    bench.reset(env)


def _require_refusal(bench: Bench, env: Env, action: Action, when: str) -> None:
    try:
        bench.step(env, action)
    except EpisodeEndedError:
        return
    raise CheckFailedError(f"a step {when} must raise EpisodeEndedError")


def _odd_actions(bench: Bench) -> None:
    """No text that a model may write raises: neither nonsense nor a distorted valid action."""
    env = bench.make()
    for text in ODD_TEXTS:
        bench.reset(env)
        _try(bench, env, text)
    for turn in (0, 1):
        action = _reach(bench, env, turn)
        if isinstance(action, str):
            for text in dict.fromkeys(odd_variants(action)):
                _reach(bench, env, turn)
                _try(bench, env, text)


def _reach(bench: Bench, env: Env, turns: int) -> Action:
    """Start an episode, play some turns at random, and return a random action for the next."""
    bench.reset(env, 1)
    for _, (_, step) in zip(range(turns), bench.steps(env), strict=False):
        if step.terminated or step.truncated:
            bench.reset(env, 1)
    return bench.random_action(env)


def _try(bench: Bench, env: Env, text: str) -> None:
    try:
        bench.step(env, text)
    except Exception as error:
        shown = text if len(text) < 60 else f"{text[:40]}... ({len(text)} characters)"
        raise CheckFailedError(
            f"the action {shown!r} raised {type(error).__name__}: {error}"
        ) from error


def _random_agent(bench: Bench) -> None:
    """Random actions are well-formed: none gets the penalty of an empty action."""
    trajectories = bench.play(RandomAgent)
    (silent,) = bench.play(SilentAgent, 1)
    floor = silent.rewards[0]
    _check_range(bench, trajectories)
    bench.facts["random"] = f"{_mean_return(trajectories):.2f}"
    rewards = [reward for episode in trajectories for reward in episode.rewards]
    require(floor >= 0 or min(rewards) > floor, "a random action was not well-formed")


def _silent_agent(bench: Bench) -> None:
    """An agent that plays empty actions gets the smallest return."""
    trajectories = bench.play(SilentAgent, 3)
    _check_range(bench, trajectories)
    if bench.spec.return_range is not None:
        lowest = bench.spec.return_range[0]
        worst = max(trajectory.episode_return for trajectory in trajectories)
        require(
            math.isclose(worst, lowest, abs_tol=1e-9),
            f"an agent that plays empty actions got {worst}, not {lowest}",
        )


def _oracle(bench: Bench) -> None:
    """The oracle reaches the return that the spec promises."""
    spec = bench.spec
    if spec.oracle is None:
        return
    trajectories = bench.play(OracleAgent)
    _check_range(bench, trajectories)
    mean = _mean_return(trajectories)
    bench.facts["oracle"] = f"{mean:.2f}"
    expected = spec.oracle_return
    if expected is None and spec.return_range is not None:
        expected = ORACLE_SHARE * spec.return_range[1]
    require(
        expected is None or mean >= expected,
        f"the oracle's mean return is {mean:.3f}, not at least {expected}",
    )


def _mean_return(trajectories: list[EpisodeRewards]) -> float:
    return sum(trajectory.episode_return for trajectory in trajectories) / len(trajectories)


def _check_range(bench: Bench, trajectories: list[EpisodeRewards]) -> None:
    if bench.spec.return_range is None:
        return
    low, high = bench.spec.return_range
    for trajectory in trajectories:
        require(
            low - 1e-9 <= trajectory.episode_return <= high + 1e-9,
            f"a return of {trajectory.episode_return} is outside {low} to {high}",
        )


def _entry_point(bench: Bench) -> None:
    """The entry point leads somewhere, and the spec of a plugin has a description."""
    if callable(bench.spec.entry_point):
        return  # registered by a program for itself
    try:
        bench.spec.load()
    except GemError as error:
        raise CheckFailedError(str(error)) from error
    require(bench.spec.description or not bench.spec.source, "the spec has no description")


ENV_CHECKS: dict[str, Callable[[Bench], None]] = {
    "entry_point": _entry_point,
    "construction": _construction,
    "types": _types,
    "determinism": _determinism,
    "variation": _variation,
    "randomness": _randomness,
    "snapshots": _snapshots,
    "ends": _ends,
    "odd_actions": _odd_actions,
    "random_agent": _random_agent,
    "silent_agent": _silent_agent,
    "oracle": _oracle,
}
"""The checks by name; the docstring of each says what it requires."""

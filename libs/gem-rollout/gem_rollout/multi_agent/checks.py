"""The contract of environments for several agents, one check per promise."""

import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from gem_core.agent import RandomAgent
from gem_core.errors import EpisodeEndedError, GemError, WrongAgentError
from gem_core.observation import Action
from gem_core.specs import EnvSpec
from gem_core.testing.env_checks import (
    MOST_STEPS,
    check_env,
    check_info,
    check_observation,
    now,
    numpy_state,
)
from gem_core.testing.odd_actions import ODD_TEXTS
from gem_core.testing.report import CheckFailedError, Report, require, run_checks
from gem_rollout import Trajectory, play_agents
from gem_rollout.multi_agent.agent_view import as_single
from gem_rollout.multi_agent.env import MultiAgentEnv, MultiAgentStep

__all__ = ["MULTI_AGENT_CHECKS", "MultiAgentBench", "check_multi_agent_env"]

VIEW_CHECKS = ("types", "determinism", "randomness", "snapshots", "ends", "odd_actions")
"""The checks of an agent's view: those of ordinary environments that need no spec."""
SEEDS = range(5)

Actions = dict[str, Action]
Played = tuple[Actions, MultiAgentStep]


class MultiAgentBench:
    """The environment's factory, and ways to play it.

    Args:
        make: Makes the environment.
        varies: Whether different seeds give different episodes.
    """

    def __init__(self, make: Callable[[], MultiAgentEnv], varies: bool) -> None:  # noqa: FBT001
        self.make = make
        self.varies = varies

    def started(self, seed: int = 0) -> MultiAgentEnv:
        """Make an environment and start an episode."""
        env = self.make()
        now(env.reset(seed=seed))
        return env

    @staticmethod
    def steps(env: MultiAgentEnv, actions: Iterable[Actions] | None = None) -> Iterator[Played]:
        """Play on, by default with random actions; yield each joint action and its step."""
        chosen = None if actions is None else iter(actions)
        for _ in range(MOST_STEPS):
            if not env.agents:
                return
            joint = env.sample_random_action() if chosen is None else next(chosen, None)
            if joint is None:
                return
            yield joint, now(env.step(joint))

    def transcript(
        self, env: MultiAgentEnv, seed: int | None, actions: Iterable[Actions] | None = None
    ) -> list[Any]:
        """Play an episode; return the reset, all actions and all steps."""
        return [now(env.reset(seed=seed)), *self.steps(env, actions)]


def check_multi_agent_env(
    factory: Callable[[], MultiAgentEnv],
    *,
    varies: bool = True,
    checks: Iterable[str] | None = None,
) -> Report:
    """Check an environment for several agents against its contract.

    Args:
        factory: Makes the environment.
        varies: Whether different seeds give different episodes; False for a game with one start.
        checks: Names from ``MULTI_AGENT_CHECKS``; None for all.
    """
    report = Report(getattr(factory, "__name__", repr(factory)))
    subject = MultiAgentBench(factory, varies)
    return run_checks(report, MULTI_AGENT_CHECKS, lambda: subject, checks)


def _construction(bench: MultiAgentBench) -> None:
    """It is a ``MultiAgentEnv``, lists its agents, refuses unknown options and closes twice."""
    env = bench.make()
    require(isinstance(env, MultiAgentEnv), f"{type(env).__name__} is not a MultiAgentEnv")
    names = list(env.possible_agents)
    require(names, "possible_agents is empty")
    require(all(isinstance(name, str) for name in names), "the names of agents must be text")
    require(len(set(names)) == len(names), f"possible_agents has duplicates: {names}")
    try:
        now(env.reset(seed=0, no_such_option=1))
    except GemError:
        pass
    else:
        raise CheckFailedError("reset accepted an unknown option silently")
    env.close()
    env.close()


def _types(bench: MultiAgentBench) -> None:
    """Observations, rewards, flags and infos have the right types, for each agent present."""
    for seed in SEEDS:
        env = bench.make()
        observations, infos = now(env.reset(seed=seed))
        _check_keys(observations, env.agents, "reset's observations")
        _check_keys(infos, env.agents, "reset's infos")
        _check_seen(observations, infos)
        present = list(env.agents)
        for _, step in bench.steps(env):
            kind = type(step).__name__
            require(type(step) is MultiAgentStep, f"step returned a {kind}, not a MultiAgentStep")
            for field, values in zip(step._fields, step, strict=True):
                _check_keys(values, {*present, *env.agents}, field)
            _check_step(env, step)
            present = list(env.agents)


def _check_keys(values: Any, agents: Iterable[str], what: str) -> None:
    require(isinstance(values, dict), f"{what} must be a dict; got a {type(values).__name__}")
    require(set(values) == set(agents), f"{what} have keys {list(values)}, not {sorted(agents)}")


def _check_seen(observations: dict[str, Any], infos: dict[str, Any]) -> None:
    for observation in observations.values():
        check_observation(observation)
    for info in infos.values():
        check_info(info)


def _check_step(env: MultiAgentEnv, step: MultiAgentStep) -> None:
    unnamed = set(env.agents) - set(env.possible_agents)
    require(not unnamed, f"possible_agents lacks {sorted(unnamed)}")
    _check_seen(step.observations, step.infos)
    for agent, reward in step.rewards.items():
        require(type(reward) is float, f"the reward of {agent!r} must be a float; got {reward!r}")
        require(abs(reward) < float("inf"), f"the reward of {agent!r} must be finite")
        flags = step.terminated[agent], step.truncated[agent]
        require(all(type(flag) is bool for flag in flags), f"flags must be bools; got {flags!r}")
        require(not all(flags), f"{agent!r} is both terminated and truncated")
        require(any(flags) != (agent in env.agents), f"{agent!r} must be in agents until it ends")


def _turns(bench: MultiAgentBench) -> None:
    """While agents are present, ``active_agents`` has at least one of them and no duplicates."""
    for seed in SEEDS:
        env = bench.started(seed)
        _check_active(env)
        for _ in bench.steps(env):
            _check_active(env)


def _check_active(env: MultiAgentEnv) -> None:
    active = env.active_agents
    require(len(set(active)) == len(active), f"active_agents has duplicates: {active}")
    require(set(active) <= set(env.agents), f"{active} are to act, but present are {env.agents}")
    require(active or not env.agents, f"active_agents is empty, but {env.agents} are present")


def _determinism(bench: MultiAgentBench) -> None:
    """The same seed gives the same episode: in another instance, and after other episodes."""
    used = bench.make()
    for seed in SEEDS:
        first = bench.transcript(bench.make(), seed)
        require(
            bench.transcript(bench.make(), seed) == first,
            f"seed {seed} gave two episodes",
        )
        bench.transcript(used, seed + 1000)
        again = bench.transcript(used, seed)
        require(again == first, f"seed {seed} gave another episode after an earlier one")
    runs = []
    for _ in range(2):
        now(used.reset(seed=5))
        runs.append([bench.transcript(used, None) for _ in range(2)])
    require(runs[0] == runs[1], "resets without a seed do not depend on the last seed alone")


def _variation(bench: MultiAgentBench) -> None:
    """Different seeds give different episodes, or the same one if ``varies`` is False."""
    starts = {repr(_played_alike(bench, seed)) for seed in range(20)}
    if bench.varies:
        require(len(starts) > 1, "20 seeds gave the same episode, and varies is True")
    else:
        require(len(starts) == 1, "varies is False, but episodes differ")


def _played_alike(bench: MultiAgentBench, seed: int) -> list[Any]:
    """Play a seed with the actions of seed 0."""
    env = bench.started()
    actions = [joint for joint, _ in bench.steps(env)]
    seen = [now(env.reset(seed=seed))]
    for joint in actions:
        if set(joint) != set(env.active_agents):
            break
        seen.append(now(env.step(joint)))
    return seen


def _randomness(bench: MultiAgentBench) -> None:
    """Global random state is not used or changed; sampling and observing change nothing."""
    random.seed(1)
    before = random.getstate(), numpy_state()
    first = bench.transcript(bench.make(), 3)
    require((random.getstate(), numpy_state()) == before, "global random state was changed")
    random.seed(2)
    require(bench.transcript(bench.make(), 3) == first, "global random state was used")
    env = bench.started(3)
    played = first[1:]
    for number, (joint, expected) in enumerate(played):
        for agent in env.agents:
            require(
                env.observe(agent) == env.observe(agent),
                "observing twice gave two results",
            )
        for _ in range(3):
            env.sample_random_action()
        step = now(env.step(joint))
        require(step == expected, f"observing or sampling changed step {number + 1}")


def _snapshots(bench: MultiAgentBench) -> None:
    """Forks and restored snapshots continue exactly like the original, independently of it."""
    for turns in (0, 1, 3):
        env = bench.started(turns)
        for _ in zip(range(turns), bench.steps(env), strict=False):
            pass
        if not env.agents:
            now(env.reset())
        snapshot, fork = env.snapshot(), env.fork()
        outcomes = [_outcome(bench, fork), _outcome(bench, env)]
        env.restore(snapshot)
        outcomes.append(_outcome(bench, env))
        other = bench.make()
        other.restore(snapshot)
        outcomes.append(_outcome(bench, other))
        same = all(outcome == outcomes[0] for outcome in outcomes)
        require(same, f"a copy after {turns} turns plays differently from the original")
    spawned = [bench.transcript(bench.started().spawn(seed=9), None) for _ in range(2)]
    require(spawned[0] == spawned[1], "spawn(seed=9) gave two different episodes")


def _outcome(bench: MultiAgentBench, env: MultiAgentEnv) -> list[Any]:
    """Play the episode to its end, and the next one, without a seed."""
    return [*bench.steps(env), bench.transcript(env, None)]


def _joint_actions(bench: MultiAgentBench) -> None:
    """Invalid joint actions raise ``WrongAgentError`` and change nothing."""
    for seed in SEEDS:
        env = bench.started(seed)
        for joint, _ in bench.steps(env):
            _check_refusals(env, joint)


def _check_refusals(env: MultiAgentEnv, joint: Actions) -> None:
    """Try invalid joint actions in a fork of the environment."""
    if not env.agents:
        return
    fork = env.fork()
    fits = fork.sample_random_action()
    gone = [agent for agent in (*joint, *env.possible_agents) if agent not in fits]
    odd: list[tuple[str, Any]] = [
        ("no actions", {}),
        ("actions that are not a dict", next(iter(fits.values()))),
        ("an unknown agent", {**fits, "no such agent": ""}),
        *((f"an action of the inactive {agent!r}", {**fits, agent: ""}) for agent in gone),
    ]
    if len(fits) > 1:
        odd.append(("a missing agent", dict(list(fits.items())[1:])))
    for what, actions in odd:
        before = fork.snapshot()
        _require_error(fork, actions, WrongAgentError, what)
        require(fork.snapshot() == before, f"{what} changed the episode, but was refused")


def _require_error(env: MultiAgentEnv, actions: Any, kind: type[Exception], what: str) -> None:
    try:
        now(env.step(actions))
    except kind:
        return
    raise CheckFailedError(f"{what} must raise {kind.__name__}")


def _ends(bench: MultiAgentBench) -> None:
    """A step before the first reset or after the end raises; a reset starts a new episode."""
    env = bench.make()
    _require_error(env, {}, EpisodeEndedError, "a step before the first reset")
    now(env.reset(seed=0))
    played = list(bench.steps(env))
    if not env.agents:
        _require_error(env, played[-1][0], EpisodeEndedError, "a step after the end")
    now(env.reset())
    require(env.agents, "no agent is present after a reset")


def _odd_actions(bench: MultiAgentBench) -> None:
    """No text that a model may write raises, whichever agent writes it."""
    for text in ODD_TEXTS:
        env = bench.started()
        for _ in range(len(env.possible_agents)):
            if not env.agents:
                break
            try:
                now(env.step(dict.fromkeys(env.active_agents, text)))
            except Exception as error:
                raise CheckFailedError(
                    f"the action {text[:40]!r} raised {type(error).__name__}: {error}"
                ) from error


def _sums(bench: MultiAgentBench) -> None:
    """The returns that the environment reports are the sums of its rewards."""
    for seed in SEEDS:
        env = bench.started(seed)
        sums: dict[str, float] = {}
        for _, step in bench.steps(env):
            for agent, reward in step.rewards.items():
                sums[agent] = sums.get(agent, 0.0) + reward
        for agent, total in sums.items():
            kept = env.get_state(agent).reward
            require(
                abs(kept - total) < 1e-6,
                f"rewards of {agent!r} sum to {total}; get_state has {kept}",
            )


def _trajectories(bench: MultiAgentBench) -> None:
    """A trajectory of random agents can be stored, and each agent's turns add up."""
    for seed in SEEDS:
        env = bench.started(seed)
        for _ in bench.steps(env):
            pass
        if env.agents:
            continue  # its episodes may have no end
        agents = {agent: RandomAgent() for agent in env.possible_agents}
        trajectory: Trajectory = now(play_agents(env, agents, seed))
        require(trajectory.error is None, f"seed {seed}: {trajectory.error}")
        stored = Trajectory.from_dict(trajectory.to_dict())
        require(stored == trajectory, "a trajectory changed when it was stored")
        for agent in {turn.agent for turn in trajectory.turns}:
            part = trajectory.of_agent(agent)
            total = env.get_state(agent).reward
            require(
                abs(part.episode_return - total) < 1e-6,
                f"the turns of {agent!r} add up to {part.episode_return}, not to {total}",
            )
            last = part.turns[-1]
            require(
                last.terminated or last.truncated,
                f"the last turn of {agent!r} is not its end",
            )


def _views(bench: MultiAgentBench) -> None:
    """The view of each agent keeps the contract of ordinary environments."""
    for agent in bench.make().possible_agents:

        def make_view(agent: str = agent) -> Any:
            env = bench.make()
            others = {name: RandomAgent() for name in env.possible_agents if name != agent}
            return as_single(env, agent, others=others)

        spec = EnvSpec(id="view:Agent", entry_point=make_view)
        report = check_env(spec, checks=VIEW_CHECKS)
        found = "; ".join(f"{finding.check}: {finding.message}" for finding in report.findings)
        require(report.ok, f"the view of {agent!r}: {found}")


MULTI_AGENT_CHECKS: dict[str, Callable[[MultiAgentBench], None]] = {
    "construction": _construction,
    "types": _types,
    "turns": _turns,
    "determinism": _determinism,
    "variation": _variation,
    "randomness": _randomness,
    "snapshots": _snapshots,
    "joint_actions": _joint_actions,
    "ends": _ends,
    "odd_actions": _odd_actions,
    "sums": _sums,
    "trajectories": _trajectories,
    "views": _views,
}
"""The checks by name; the docstring of each states the promise."""

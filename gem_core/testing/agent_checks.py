"""The contract of agents, one check for each part of it."""

from collections.abc import Callable, Iterable
from typing import Any

from gem_core.agent import Agent, Reply
from gem_core.env import Env
from gem_core.factory import make_factory
from gem_core.optional import seed_agent
from gem_core.resolve import resolve
from gem_core.specs import AGENTS, EnvSpec
from gem_core.testing.env_checks import now
from gem_core.testing.example import example_spec
from gem_core.testing.report import Report, require, run_checks

__all__ = ["AGENT_CHECKS", "AgentBench", "check_agent"]

MOST_TURNS = 50


class AgentBench:
    """The input of a check: an agent and its environment.

    Args:
        make: Makes the agent.
        make_env: Makes the environment that it plays.
    """

    def __init__(self, make: Callable[[], Agent], make_env: Callable[[], Env]) -> None:
        self.make = make
        self.make_env = make_env

    def play(self, agent: Agent, seed: int, turns: int = MOST_TURNS) -> list[Any]:
        """Play an episode; return the actions."""
        env = self.make_env()
        observation, info = now(env.reset(seed=seed))
        seed_agent(agent, seed)
        agent.reset(env)
        actions = []
        for _ in range(turns):
            said = now(agent.act(observation, info))
            actions.append(said.action if isinstance(said, Reply) else said)
            observation, _, terminated, truncated, info = now(env.step(actions[-1]))
            if terminated or truncated:
                break
        return actions


def check_agent(
    agent: str | Callable[[], Agent],
    *,
    env: str | EnvSpec | None = None,
    checks: Iterable[str] | None = None,
) -> Report:
    """Check an agent against the contract.

    Args:
        agent: Its id, or a function that makes it.
        env: The environment that it plays, an id or a spec; None for that of the agent's spec, or
            a small environment of text.
        checks: Names from ``AGENT_CHECKS``; None for all.

    Raises:
        UnknownIdError: The id is not registered.
    """
    make: Callable[[], Agent]
    if isinstance(agent, str):
        spec = resolve(AGENTS, agent)
        subject, make, env = agent, spec.make, env or spec.env
    else:
        subject, make = getattr(agent, "__name__", repr(agent)), agent
    make_env = make_factory(env or example_spec())
    return run_checks(Report(subject), AGENT_CHECKS, lambda: AgentBench(make, make_env), checks)


def _construction(bench: AgentBench) -> None:
    """It can be made, has the members of ``Agent``, and can be closed twice."""
    agent = bench.make()
    require(isinstance(agent, Agent), f"{type(agent).__name__} lacks members of the Agent protocol")
    agent.close()
    agent.close()


def _actions(bench: AgentBench) -> None:
    """It returns actions or replies for whole episodes, one after another."""
    agent = bench.make()
    for seed in range(3):
        actions = bench.play(agent, seed)
        require(actions and None not in actions, "act returned None instead of an action")
    agent.close()


def _reset(bench: AgentBench) -> None:
    """A reset in the middle of an episode starts a new one, as a new agent would."""
    used, new = bench.make(), bench.make()
    bench.play(used, 1, turns=1)
    again, first = bench.play(used, 2), bench.play(new, 2)
    require(again == first, f"after a reset it played {again!r}, a new agent {first!r}")
    used.close()
    new.close()


AGENT_CHECKS: dict[str, Callable[[AgentBench], None]] = {
    "construction": _construction,
    "actions": _actions,
    "reset": _reset,
}
"""The checks by name; the docstring of each says what it requires."""

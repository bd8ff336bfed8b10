"""Optional members of environments, agents and tools, beyond their protocols.

Code that uses one calls the function of this module, which says what happens without it.

=============================  ===============  ================================================
member                         of               without it
=============================  ===============  ================================================
``seed(seed)``                 the innermost    ``make(seed=)`` uses ``spawn(seed=)``
                               environment
``seed_actions(seed)``         the innermost    random actions of a group's episodes may be the
                               environment      same
``reset_options(number,``      the innermost    seeds may start the same task in two episodes;
``seed=None) -> dict``         environment      these are the options of ``reset`` for an episode
``human_view: HumanView``      the innermost    ``gem-core play`` shows what agents see
                               environment
``seed_episode(seed)``         an agent         what the agent draws does not depend on the
                                                episode; called before its ``reset``
``preflight(observation,       an agent         nothing is checked before a run
info) -> Preflight``
``movable: bool``              an agent         it acts in the process of the run, also where
                                                environments are in worker processes
``async arun(call)``           a tool           ``run`` runs where the environment is
                                                asynchronous too
``in_order: bool``             a tool           calls of one action may run at the same time
=============================  ===============  ================================================
"""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from gem_core.agent import Agent, Preflight
from gem_core.env import Env
from gem_core.maybe_async import is_awaitable
from gem_core.observation import Info, Observation
from gem_core.tool import Tool, ToolCall, ToolResult

__all__ = [
    "HumanView",
    "human_view",
    "preflight",
    "reset_options",
    "run_async",
    "runs_in_order",
    "seed_actions",
    "seed_agent",
    "seeded",
]


class HumanView(Protocol):
    """The value of ``human_view``: what a person sees and types in ``gem-core play``."""

    def screen(self, observation: Any, info: Info, width: int) -> str:
        """Return the text to show for an observation and its info; a line has ``width`` columns."""

    def typed(self, text: str) -> str:
        r"""Return the content of the ``\boxed{}`` that a person means by a text."""


def seeded(env: Env, seed: int) -> Env:
    """Return the environment with its random stream seeded; it may be a new one (``spawn``)."""
    inner = env.unwrapped
    if hasattr(inner, "seed"):
        inner.seed(seed)
        return env
    other = env.spawn(seed=seed)
    env.close()
    return other


# getattr and hasattr: isinstance with a protocol takes ten times as long, and each episode asks.
def seed_actions(env: Env, seed: int) -> None:
    """Seed the random actions of an environment, if it can."""
    inner = env.unwrapped
    if hasattr(inner, "seed_actions"):
        inner.seed_actions(seed)


def reset_options(env: Env, number: int, seed: int | None = None) -> dict[str, Any]:
    """Return the options of ``reset`` for episode ``number`` of a run; empty if it has none."""
    inner = env.unwrapped
    return dict(inner.reset_options(number, seed)) if hasattr(inner, "reset_options") else {}


def human_view(env: Env) -> HumanView | None:
    """Return the ``HumanView`` of an environment; None if a person plays as an agent does."""
    return getattr(env.unwrapped, "human_view", None)


def seed_agent(agent: Agent, seed: int) -> None:
    """Seed an agent's random draws in its next episode, if it can be seeded."""
    if hasattr(agent, "seed_episode"):
        agent.seed_episode(seed)


async def preflight(agent: Agent, observation: Observation, info: Info) -> Preflight:
    """Check whether an agent can play, before a run.

    An agent's ``preflight`` takes what ``act`` takes, as if it were the beginning of an episode; it
    may return an awaitable. An agent whose model is elsewhere asks it for one token, so that a
    wrong key, name or address is found. It may be called before the first ``reset``, and does not
    change the agent.

    Raises:
        Exception: No episode can be played; the message says what to change.
        TypeError: The agent's ``preflight`` returned something else.
    """
    if not hasattr(agent, "preflight"):
        return Preflight()
    found = agent.preflight(observation, info)
    found = await found if is_awaitable(found) else found
    if not isinstance(found, Preflight):
        raise TypeError(
            f"{type(agent).__name__}.preflight must return a Preflight; got {found!r:.80}."
        )
    return found


def run_async(tool: Tool, call: ToolCall) -> ToolResult | Awaitable[ToolResult]:
    """Run a call for an asynchronous environment: with ``arun`` if the tool has it."""
    run: Callable[[ToolCall], ToolResult | Awaitable[ToolResult]]
    run = getattr(tool, "arun", tool.run)
    return run(call)


def runs_in_order(tool: Tool) -> bool:
    """Return whether calls of one action to a tool wait for each other."""
    return bool(getattr(tool, "in_order", False))

"""The checks before a run: can each agent's model be asked, and do the first prompts fit in it?

First, each agent answers a short question, which needs no environment: a wrong key or a dead port
is found within seconds. An agent that then knows the context of its model also sees the first
prompt of each environment that could be too long.
"""

import asyncio
import functools
import json
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from typing import Any

from gem_core.agent import Agent, BaseAgent, Preflight
from gem_core.content import images_of
from gem_core.env import Env
from gem_core.errors import ConfigError, GemError
from gem_core.mixture import Component
from gem_core.observation import Action, Info, Observation, visible_text
from gem_core.optional import preflight
from gem_rollout.episodes.rollout import collect
from gem_rollout.records.trajectory import Trajectory

__all__ = ["QUESTION", "PreflightError", "check_agents"]

QUESTION = "Reply with OK."
"""The observation that each agent is asked about first."""
_OFF = "preflight=false plays without this check."


class PreflightError(ConfigError):
    """A run would fail: a model cannot be asked, or a first prompt is too long for it."""


def check_agents(
    make_agents: Mapping[str, Callable[[], Agent]],
    envs: Mapping[str, Component],
    first: Mapping[tuple[str, str], int],
    *,
    samples: int = 1,
    seed: int = 0,
) -> list[str]:
    """Check the agents of a run before its first episode; see ``gem_core.optional``.

    Args:
        make_agents: Makes each agent, by name.
        envs: The environments by name.
        first: Index of the first episode to be played, by environment and agent; the others play
            nothing, and are not checked.
        samples: Episodes of each task.
        seed: Seed of the run.

    Returns:
        A line for each model that gave no answer, though it may do so later.

    Raises:
        PreflightError: The message has a line for each agent and environment that cannot be played,
            and says what to change.
    """
    playing = {name: make_agents[name] for name in dict.fromkeys(agent for _, agent in first)}
    found = asyncio.run(_ask_all(playing))
    problems = [
        f"agent.{name}: {_text(one)}"
        for name, one in found.items()
        if isinstance(one, BaseException)
    ]
    for name, one in found.items():
        if isinstance(one, Preflight) and not problems and one.context is not None:
            own = [(env, index) for (env, agent), index in first.items() if agent == name]
            make_reader = functools.partial(_reader, playing[name], one)
            run = collect(envs, make_reader, episodes=own, episodes_per_group=samples, seed=seed)
            problems += [f"agent.{name} in {line}" for line in _too_long(run)]
    if problems:
        raise PreflightError("\n  ".join(["The run did not begin:", *problems, _OFF]))
    return [
        f"agent.{name}: its model gave no answer to a first request, and is asked again: "
        f"{one.problem}"
        for name, one in found.items()
        if isinstance(one, Preflight) and one.problem
    ]


async def _ask_all(
    make_agents: Mapping[str, Callable[[], Agent]],
) -> dict[str, Preflight | BaseException]:
    agents: dict[str, Agent] = {}
    try:
        for name, make in make_agents.items():
            agents[name] = make()
        asked: list[Coroutine[Any, Any, Preflight]] = [
            preflight(agent, QUESTION, {}) for agent in agents.values()
        ]
        answers = await asyncio.gather(*asked, return_exceptions=True)
        return dict(zip(agents, answers, strict=True))
    finally:
        for agent in agents.values():
            agent.close()


def _reader(make_agent: Callable[[], Agent], asked: Preflight) -> "_Reader":
    return _Reader(make_agent(), asked)


def _too_long(run: Iterable[Trajectory]) -> Iterator[str]:
    """Yield a line for each environment whose first prompt a reader could not let pass."""
    for one in run:
        if one.error is not None and one.error["type"] == _Unfit.__name__:
            yield f"{one.component}: {one.error['message']}"


class _Unfit(Exception):  # noqa: N818 - it ends an episode
    """The first prompt of an episode cannot be answered."""


class _Seen(Exception):  # noqa: N818 - it ends an episode
    """The first prompt of an episode can be answered, or may be."""


class _Reader(BaseAgent):
    """Reads the first prompt of an episode for an agent, and ends it with an error.

    Args:
        agent: The agent.
        asked: Its answer to ``QUESTION``.
    """

    def __init__(self, agent: Agent, asked: Preflight) -> None:
        self._agent, self._asked = agent, asked

    def reset(self, env: Env) -> None:
        self._agent.reset(env)

    async def act(self, observation: Observation, info: Info) -> Action:
        if not self._must_fit(observation, info):
            try:
                found = await preflight(self._agent, observation, info)
            except Exception as error:
                raise _Unfit(f"its first prompt is refused: {_text(error)}") from error
            if not found.fits:
                raise _Unfit(
                    f"its first prompt has {found.prompt_tokens:,} tokens and a reply needs room "
                    f"for {found.reply_tokens:,}, but the model's context has {found.context:,}. "
                    f"Choose a longer context, fewer tokens of a reply, or other environments."
                )
        raise _Seen

    def _must_fit(self, observation: Observation, info: Info) -> bool:
        """Return whether the prompt fits even if each of its bytes is a token."""
        asked = self._asked
        if images_of(observation) or asked.prompt_tokens is None or asked.context is None:
            return False
        shown = visible_text(observation, info) + json.dumps(info.get("tool_schemas"), default=str)
        most = len(shown.encode("utf-8", "replace")) + asked.prompt_tokens + asked.reply_tokens
        return most <= asked.context

    def close(self) -> None:
        self._agent.close()


def _text(error: BaseException) -> str:
    return str(error) if isinstance(error, GemError) else f"{type(error).__name__}: {error}"

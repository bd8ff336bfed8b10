"""The agents that play the user: ``scripted``, ``model``, ``human`` or ``replay``.

``scripted``  a program that plays the scenario; the default
``model``     the agent in the parameter ``agent``, with a prompt that explains the role
``human``     you, at the terminal
``replay``    the messages in the parameter ``messages``, one after the other

The id of any other agent, such as ``openai``, stands for ``model`` with this agent.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from gem_core.agent import Agent, HumanAgent, ScriptedAgent
from gem_core.api import make_agent
from gem_core.errors import ConfigError, GemError, UnknownKwargError
from gem_rollout.records.redaction import redact
from gem_tau.users.model import ModelUser
from gem_tau.users.scripted import ScriptedUser

__all__ = ["ModelUser", "ScriptedUser", "UserGaveUpError", "make_user", "player", "user_record"]

STOP = "###STOP###"


class UserGaveUpError(GemError, RuntimeError):
    """The agent that plays the user does not know how to go on, or says nothing."""


def make_user(user: Any) -> Agent:
    """Return the agent that plays the user.

    Args:
        user: A name or the id of an agent, a mapping with an ``id`` and parameters, or an agent.

    Raises:
        ConfigError: A parameter is missing, or the mapping has no id.
        UnknownIdError: There is no agent with the id.
        UnknownKwargError: A parameter is not accepted.
    """
    if not isinstance(user, str | Mapping):
        return player(user)
    name, parameters = _parts(user)
    if name == "scripted":
        _refuse(name, parameters)
        return ScriptedUser()
    if name == "human":
        _refuse(name, parameters)
        return HumanAgent()
    if name == "replay":
        return _replay(**parameters)
    if name == "model":
        return ModelUser(player(parameters.pop("agent", "openai")), **parameters)
    return ModelUser(make_agent(name, **parameters))


def player(agent: Any) -> Agent:
    """Return an agent from its id, a mapping with an ``id`` and parameters, or itself.

    Raises:
        ConfigError: It is none of these.
    """
    if isinstance(agent, str | Mapping):
        return make_agent(agent)
    if not isinstance(agent, Agent):
        raise ConfigError(f"A seat is played by an agent or the id of one; got {agent!r}.")
    return agent


def user_record(user: Any) -> dict[str, Any]:
    """Return the id and the parameters of the user, for the records of an episode.

    Secrets are left out.
    """
    if not isinstance(user, str | Mapping):
        return {"id": type(user).__name__}
    name, parameters = _parts(user)
    return dict(redact({"id": name, **parameters}))


def _parts(user: str | Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    if isinstance(user, str):
        return user, {}
    parameters = dict(user)
    name = parameters.pop("id", None)
    if not isinstance(name, str):
        raise ConfigError(f"user= needs an id, such as 'scripted'; got {dict(user)!r}.")
    return name, parameters


def _refuse(name: str, parameters: Mapping[str, Any]) -> None:
    if parameters:
        raise UnknownKwargError(f"The user {name!r} takes no {next(iter(parameters))!r}.")


def _replay(*, messages: Sequence[str] = ()) -> Agent:
    if isinstance(messages, str) or not messages:
        raise ConfigError("The user 'replay' needs messages=, a list of texts.")
    return ScriptedAgent([*messages, STOP])

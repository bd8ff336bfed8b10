"""Environments of one seat of a dialogue, in which the other seat is played."""

from typing import Any, Literal

from gem_core.errors import ConfigError
from gem_core.signatures import passes_options_to
from gem_rollout import as_single
from gem_rollout.multi_agent.agent_view import AgentView
from gem_tau.dialogue import ASSISTANT, GIVES_UP, STOP_MARKS, USER, DialogueEnv
from gem_tau.floors import without_free
from gem_tau.oracle import DialogueOracle
from gem_tau.users import make_user, player, user_record

__all__ = ["ASSISTANT", "GIVES_UP", "STOP_MARKS", "USER", "DialogueEnv", "make_dialogue"]


@passes_options_to(DialogueEnv)
def make_dialogue(
    *,
    seat: Literal["assistant", "user"] = "assistant",
    user: Any = "scripted",
    assistant: Any = "oracle",
    exclude_free: bool = False,
    **dialogue: Any,
) -> AgentView:
    """Return the view of one seat of a ``DialogueEnv``, in which the other seat is played.

    Args:
        seat: The seat that acts from outside.
        user: The agent that plays the user, if it is not the seat: ``scripted``, ``model``,
            ``human``, ``replay``, the id of an agent, a mapping with an ``id`` and parameters, or
            an agent; see ``gem_tau.users``.
        assistant: The agent that plays the assistant, if it is not the seat: ``oracle``, the id of
            another agent, a mapping with an ``id`` and parameters, or an agent.
        exclude_free: Whether to leave out tasks that pay an agent which does nothing useful.
        dialogue: See ``DialogueEnv``.

    Raises:
        ConfigError: A value is not valid.
        UnknownIdError: There is no agent with the id.
        DataError: The data cannot be read.
    """
    if seat not in {ASSISTANT, USER}:
        raise ConfigError(f"seat must be 'assistant' or 'user'; got {seat!r}.")
    env = DialogueEnv(**dialogue)
    if exclude_free:
        env.source = without_free(env.source, basis=env.basis, mentions=env.mentions)
    if seat == USER:
        played = DialogueOracle() if assistant == "oracle" else player(assistant)
        return as_single(env, USER, others={ASSISTANT: played})
    env.user = user_record(user)
    return as_single(env, ASSISTANT, others={USER: make_user(user)})

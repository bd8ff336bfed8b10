"""Environments of one seat of a dialogue, in which the other seat is played."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from gem_core.calls import CallFormat
from gem_core.errors import ConfigError
from gem_rollout import as_single
from gem_rollout.multi_agent.agent_view import AgentView
from gem_tau.dialogue import ASSISTANT, GIVES_UP, STOP_MARKS, USER, DialogueEnv
from gem_tau.floors import without_free
from gem_tau.judge import Judge
from gem_tau.mentions import MentionRule, check_rule
from gem_tau.oracle import DialogueOracle
from gem_tau.rewards import check_basis
from gem_tau.sources import Dialogues, find_tasks
from gem_tau.task import Part
from gem_tau.users import make_user, player, user_record

__all__ = ["ASSISTANT", "GIVES_UP", "STOP_MARKS", "USER", "DialogueEnv", "make_dialogue"]


def make_dialogue(
    *,
    seat: Literal["assistant", "user"] = "assistant",
    user: Any = "scripted",
    assistant: Any = "oracle",
    tasks: str | Dialogues = "retail-sample",
    data: str | Path | None = None,
    split: str | None = None,
    call_format: str | Mapping[str, Any] | CallFormat = "json",
    instructions: Literal["text", "schemas"] = "text",
    max_turns: int = 30,
    max_errors: int = 10,
    reward_basis: Sequence[Part] | None = None,
    judge: str | Mapping[str, Any] | Judge | None = None,
    mentions: MentionRule = "words",
    exclude_free: bool = False,
) -> AgentView:
    """Return the view of one seat of a ``DialogueEnv``, in which the other seat is played.

    Args:
        seat: The seat that acts from outside.
        user: The agent that plays the user, if it is not the seat: ``scripted``, ``model``,
            ``human``, ``replay``, the id of an agent, a mapping with an ``id`` and parameters, or
            an agent; see ``gem_tau.users``.
        assistant: The agent that plays the assistant, if it is not the seat: ``oracle``, the id of
            another agent, a mapping with an ``id`` and parameters, or an agent.
        tasks: The name of a source of tasks, which the id decides (``retail-sample``, ...), or an
            object with the methods of ``gem_tasks.task_source.TaskSource``.
        data: A folder with tasks, for the sources that read one.
        split: The split of the tasks; None for the source's default.
        call_format: How the assistant calls tools: ``json`` (one call is the whole answer), the id
            of a call format, a mapping with an ``id``, or an object. A call as in ``json`` is read
            with every format.
        instructions: Where the functions are described: in the policy (``text``), or in
            ``info["tool_schemas"]`` of ``reset`` (``schemas``).
        max_turns: Turns of the assistant, calls included, 1 or more.
        max_errors: Failed calls in a row, 1 or more.
        reward_basis: The parts of the reward; None for each task's own.
        judge: Decides the part ``nl``: the id of an agent, a mapping, or a function.
        mentions: How a text that must be said is found: ``words``, as whole words and as numbers,
            or ``text``, as part of a message, as in tau-bench; see ``gem_tau.mentions``.
        exclude_free: Whether to leave out tasks that pay an agent which does nothing useful.

    Raises:
        ConfigError: A value is not valid.
        UnknownIdError: There is no agent with the id.
        DataError: The data cannot be read.
    """
    if seat not in {ASSISTANT, USER}:
        raise ConfigError(f"seat must be 'assistant' or 'user'; got {seat!r}.")
    source = find_tasks(tasks, data=data, split=split)
    if exclude_free:
        basis = None if reward_basis is None else check_basis(reward_basis)
        source = without_free(source, basis=basis, mentions=check_rule(mentions))
    env = DialogueEnv(
        tasks=source,
        call_format=call_format,
        instructions=instructions,
        max_turns=max_turns,
        max_errors=max_errors,
        reward_basis=reward_basis,
        judge=judge,
        mentions=mentions,
    )
    if seat == USER:
        played = DialogueOracle() if assistant == "oracle" else player(assistant)
        return as_single(env, USER, others={ASSISTANT: played})
    env.user = user_record(user)
    return as_single(env, ASSISTANT, others={USER: make_user(user)})

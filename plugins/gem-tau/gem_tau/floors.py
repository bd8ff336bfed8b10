"""Which tasks pay an agent that does nothing useful: a score means little if many do.

``silent``    sends empty messages
``goodbye``   says goodbye in each turn
``transfer``  hands the user over to a human agent in its first turn

Each plays with the scripted user. Most tasks need not be played: none of these agents can be paid
more than the set-up database, the one text and the one call that it has would be. Only tasks in
which that is enough are played.
"""

from collections.abc import Iterable, Mapping, Sequence

from gem_core.agent import ScriptedAgent
from gem_core.errors import ConfigError
from gem_rollout import as_single, play_episode
from gem_tau.dialogue import ASSISTANT, USER, DialogueEnv
from gem_tau.mentions import MentionRule
from gem_tau.oracle import written
from gem_tau.rewards import Evidence, grade
from gem_tau.sources import Dialogues, ListedTasks
from gem_tau.task import Call, DialogueTask, Part
from gem_tau.toolkit import TRANSFER
from gem_tau.users import ScriptedUser

__all__ = ["IDLE_AGENTS", "free_tasks", "played", "without_free"]

_GOODBYE = "Goodbye."
_HAND_OVER = Call(TRANSFER, {"summary": "The customer needs help."})
IDLE_AGENTS: Mapping[str, str] = {
    "silent": "",
    "goodbye": _GOODBYE,
    "transfer": written(_HAND_OVER),
}
"""The action that each agent repeats, by its name."""


def free_tasks(
    tasks: Iterable[DialogueTask],
    *,
    basis: Sequence[Part] | None = None,
    mentions: MentionRule = "words",
) -> dict[str, tuple[str, ...]]:
    """Return the tasks that pay an agent which does nothing useful.

    No judge is asked: a task with statements for one is not paid if ``nl`` is in its basis.

    Args:
        tasks: The tasks.
        basis: The parts of the reward; None for each task's own.
        mentions: How a required text is found; see ``gem_tau.mentions``.

    Returns:
        The names of the agents that are paid, by the id of the task; only tasks with such agents.
    """
    found = {}
    for task in tasks:
        if names := tuple(name for name in IDLE_AGENTS if _is_paid(name, task, basis, mentions)):
            found[task.id] = names
    return found


def without_free(
    source: Dialogues,
    *,
    basis: Sequence[Part] | None = None,
    mentions: MentionRule = "words",
) -> Dialogues:
    """Return a source without the listed tasks that ``free_tasks`` names; drawn tasks stay.

    Raises:
        ConfigError: No task is left.
    """
    if not isinstance(source, ListedTasks):
        return source
    tasks = source.tasks
    free = free_tasks(tasks, basis=basis, mentions=mentions)
    left = [task for task in tasks if task.id not in free]
    if not left:
        raise ConfigError(
            f"exclude_free=true leaves no task: all {len(tasks):,} pay an agent that does nothing "
            f"useful. 'gem-core tau check' lists them."
        )
    return ListedTasks(left)


def _is_paid(
    name: str, task: DialogueTask, basis: Sequence[Part] | None, mentions: MentionRule
) -> bool:
    parts = task.reward_basis if basis is None else tuple(basis)
    if "nl" in parts and task.nl_assertions:
        return False
    may_be_paid = not task.scenario.goals or _most(name, task, parts, mentions) > 0
    return may_be_paid and played(name, task, parts, mentions) > 0


def _most(name: str, task: DialogueTask, basis: Sequence[Part], mentions: MentionRule) -> float:
    """Return the highest reward of an agent; it is less if the dialogue reaches a limit."""
    db = task.fresh()
    if name != "transfer":
        evidence = Evidence(db, said=[IDLE_AGENTS[name]])
    else:
        task.domain.toolkit(db).call(_HAND_OVER.name, _HAND_OVER.arguments)
        evidence = Evidence(db, calls=[_HAND_OVER])
    return float(grade(task, evidence, basis=basis, mentions=mentions).reward)


def played(
    name: str, task: DialogueTask, basis: Sequence[Part], mentions: MentionRule = "words"
) -> float:
    """Play an episode of an agent of ``IDLE_AGENTS`` with the scripted user; return the reward.

    Raises:
        ConfigError: The task cannot be played.
    """
    dialogue = DialogueEnv(tasks=ListedTasks([task]), reward_basis=basis, mentions=mentions)
    env = as_single(dialogue, ASSISTANT, others={USER: ScriptedUser()})
    trajectory = play_episode(env, ScriptedAgent([IDLE_AGENTS[name]]), seed=0)
    if trajectory.error is not None:
        raise ConfigError(f"Task {task.id!r} cannot be played: {trajectory.error['message']}")
    return float(trajectory.episode_return)

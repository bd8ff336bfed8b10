"""From the calls of an episode to a trajectory: lines, their labels, and sequences of tokens.

The calls form trees: a call follows the newest one whose tokens, or whose messages and reply, begin
its prompt. A *line* goes from a root to a leaf; where calls have several followers, the line goes
on with the one that has the most calls after it, and the others begin lines of their own.

=============  ==================================================================================
``main``       the first line of the conversation that has the most calls
``branch``     a line that leaves another line
``compacted``  a later root with the tools and the system message of the main line, which begins
               after it has ended: the program has shortened its history
``aux``        any other root: titles, summaries, assistants with tools of their own
=============  ==================================================================================

Each call is on one line, so each sampled token is trained on in one sequence. A line is one
sequence as long as prompts begin with all tokens before them; another begins where one does not.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gem_core.agent import Generation
from gem_core.observation import Info
from gem_rollout.records.trajectory import Trajectory, Turn
from gem_serve.gateway.recorder import CallRecord, tokens_of

if TYPE_CHECKING:
    from gem_serve.gateway.episode import ProgramEpisode

__all__ = ["LABELS", "Line", "lines_of", "trajectory_of"]

LABELS = ("main", "compacted", "branch", "aux")


@dataclass
class Line:
    """Calls that follow each other.

    Args:
        label: ``main``, ``branch``, ``compacted`` or ``aux``.
        calls: The calls, in order.
    """

    label: str
    calls: list[CallRecord] = field(default_factory=list)


def lines_of(calls: Iterable[CallRecord]) -> list[Line]:
    """Return the lines of an episode's calls; ``main`` is the last one.

    Args:
        calls: The calls that have a reply.
    """
    known = {call.id: call for call in sorted(calls, key=lambda one: one.number)}
    if not known:
        return []
    children: dict[str | None, list[CallRecord]] = {}
    for call in known.values():
        before = [known[one] for one in (call.token_parent, call.message_parent) if one in known]
        newest = max(before, key=lambda one: one.number, default=None)
        children.setdefault(newest.id if newest else None, []).append(call)
    sizes = _sizes(known, children)
    roots = children.get(None, [])
    labels = _labels(roots, sizes)
    found: list[Line] = []
    for root in roots:
        found += _lines_below(root, labels[root.id], children, sizes)
    found.sort(key=lambda line: (line.label == "main", line.calls[-1].ended))
    return found


def _sizes(
    known: dict[str, CallRecord], children: dict[str | None, list[CallRecord]]
) -> dict[str, int]:
    """Return the number of calls on the longest line from each call."""
    sizes: dict[str, int] = {}
    for call in sorted(known.values(), key=lambda one: -one.number):
        sizes[call.id] = 1 + max(
            (sizes.get(one.id, 0) for one in children.get(call.id, ())), default=0
        )
    return sizes


def _labels(roots: Sequence[CallRecord], sizes: dict[str, int]) -> dict[str, str]:
    groups: dict[tuple[str, str], list[CallRecord]] = {}
    for root in roots:
        groups.setdefault((root.tools, root.system), []).append(root)
    most = max(
        groups.values(), key=lambda group: (sum(sizes[one.id] for one in group), -group[0].number)
    )
    labels = {root.id: "aux" for root in roots}
    ended = 0.0
    for root in most:
        if root is most[0]:
            labels[root.id] = "main"
        elif root.started >= ended:
            labels[root.id] = "compacted"
        ended = max(ended, root.ended)
    return labels


def _lines_below(
    root: CallRecord,
    label: str,
    children: dict[str | None, list[CallRecord]],
    sizes: dict[str, int],
) -> list[Line]:
    found, waiting = [], [(root, label)]
    while waiting:
        call, its_label = waiting.pop()
        line = Line(its_label, [call])
        while followers := children.get(line.calls[-1].id):
            following = max(followers, key=lambda one: (sizes[one.id], -one.number))
            other = "aux" if label == "aux" else "branch"
            waiting += [(one, other) for one in followers if one is not following]
            line.calls.append(following)
        found.append(line)
    return found


def trajectory_of(
    episode: "ProgramEpisode",
    *,
    labels: Sequence[str] = LABELS,
    inexact: bool = False,
    undelivered: bool = False,
) -> Trajectory:
    """Return the trajectory of an episode, with a turn for each call that may be trained on.

    The turns of a sequence follow each other, and those of the main line come last. The last turn
    is paid the reward; it is truncated if the episode was closed so, or if the context was too
    short for the last call. ``reset_info["gateway"]`` counts the calls that were left out.

    Args:
        episode: The episode.
        labels: The labels of the lines to keep.
        inexact: Whether to keep calls whose token ids or log-probabilities are incomplete.
        undelivered: Whether to keep calls whose answer no client got.
    """
    left_out: dict[str, int] = {}
    turns: list[Turn] = []
    records = episode.records
    delivered = _delivered(records.calls.values())
    lines = lines_of(one for one in records.calls.values() if one.status == "done")
    for number, line in enumerate(lines):
        kept = []
        for call in line.calls:
            reason = _why_not(
                call, line, delivered, labels, inexact=inexact, undelivered=undelivered
            )
            if reason is None:
                kept.append(call)
            else:
                left_out[reason] = left_out.get(reason, 0) + 1
        turns += _turns(episode, line, number, kept, delivered)
    for call in records.calls.values():
        if call.status != "done":
            left_out[call.status] = left_out.get(call.status, 0) + 1
    return _trajectory(episode, turns, left_out)


def _delivered(calls: Iterable[CallRecord]) -> set[str]:
    """Return the calls that a later call extends: their answers have arrived."""
    known = list(calls)
    return {one.message_parent or "" for one in known} | {one.token_parent or "" for one in known}


def _why_not(
    call: CallRecord,
    line: Line,
    delivered: set[str],
    labels: Sequence[str],
    *,
    inexact: bool,
    undelivered: bool,
) -> str | None:
    if line.label not in labels:
        return line.label
    if not call.exact and not inexact:
        return "inexact"
    if not call.sent and call.id not in delivered and not undelivered:
        return "undelivered"
    return None


def _turns(
    episode: "ProgramEpisode", line: Line, number: int, calls: list[CallRecord], delivered: set[str]
) -> list[Turn]:
    turns: list[Turn] = []
    before: CallRecord | None = None
    for call in calls:
        followed = before and episode.records.since(call, before, "token_parent")
        extends = followed is not None
        given = tokens_of(followed)[: -len(call.ids)] if followed and call.ids else None
        if not followed and call.ids:
            given = episode.records.full(call.id)[: call.prompt_tokens]
        generation = Generation(
            messages=_messages(episode, call, before if extends else None),
            reply=call.reply,
            extends=extends,
            model=call.model,
            finish_reason=call.finish_reason,
            prompt_tokens=call.prompt_tokens,
            completion_tokens=len(call.ids),
            prompt_ids=given,
            token_ids=call.ids or None,
            logprobs=call.logprobs if any(one is not None for one in call.logprobs) else None,
            versions=_versions(call),
            queue_seconds=call.waited,
            model_seconds=max(0.0, call.ended - call.started - call.waited),
        )
        info: Info = {
            "label": line.label,
            "line": number,
            "call": call.number,
            "dialect": call.dialect,
            "delivered": call.id in delivered,
        }
        if call.changes:
            info["changes"] = call.changes
        turns.append(_turn(call, generation, info))
        before = call
    return turns


def _versions(call: CallRecord) -> list[int | None] | None:
    return None if call.version is None or not call.ids else [call.version] * len(call.ids)


def _messages(
    episode: "ProgramEpisode", call: CallRecord, before: CallRecord | None
) -> list[dict[str, Any]]:
    """Return the messages of a call that follow those and the reply of an earlier one."""
    followed = before and episode.records.since(call, before, "message_parent")
    if followed:
        return [one for call in followed for one in [*call.messages, call.reply]][:-1]
    found = episode.records.messages(call.id)[:-1]
    if before is None:
        return found
    known = episode.records.messages(before.id)
    return found[len(known) :] if found[: len(known)] == known else found


def _turn(call: CallRecord, generation: Generation, info: Info) -> Turn:
    shown = [one for one in generation.messages if one["role"] != "assistant"]
    texts = [
        f"{one.get('content') or ''}" for one in (shown[-1:] if not generation.extends else shown)
    ]
    return Turn(
        agent="policy",
        observation="\n\n".join(texts),
        action=_action(call),
        reward=0.0,
        terminated=False,
        truncated=False,
        info=info,
        agent_seconds=max(0.0, call.ended - call.started),
        generation=generation,
    )


def _action(call: CallRecord) -> str:
    """Return the reply and its tool calls as text."""
    parts = [call.reply.get("content") or ""]
    functions = [one["function"] for one in call.reply.get("tool_calls", ())]
    parts += [f"{one['name']}({one['arguments']})" for one in functions]
    return "\n".join(part for part in parts if part)


def _trajectory(
    episode: "ProgramEpisode", turns: list[Turn], left_out: dict[str, int]
) -> Trajectory:
    options, closed = episode.options, episode.closed or {}
    if turns:
        turns[-1].reward = episode.reward or 0.0
        last = max(episode.records.calls.values(), key=lambda one: one.number)
        turns[-1].truncated = bool(closed.get("truncated")) or last.kind == "context"
        turns[-1].terminated = bool(episode.closed) and not turns[-1].truncated
        turns[-1].info |= episode.reward_info
    trajectory = Trajectory(
        env_id=options.env_id,
        agent="policy",
        index=options.index,
        seed=options.seed,
        turns=turns,
        reset_info={**options.info, "gateway": {"episode": episode.id, "left_out": left_out}},
        error=closed.get("error"),
        group=options.group,
        sample=options.sample,
        started_at=episode.created,
        reset_options={},
    )
    correct = episode.reward_info.get("correct")
    trajectory.success = None if correct is None else bool(correct)
    return trajectory

"""Why an episode failed: the first of ``RULES`` that holds.

An episode that succeeded has no cause, and neither has one whose environment does not say whether
it did (``Trajectory.success`` is None) unless an error ended it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from gem_core.info import Grading, grading_in
from gem_rollout import Trajectory
from gem_rollout.records.failures import Failure

__all__ = ["RULES", "Cause", "Ending", "Rule", "cause_of"]

Cause = Literal["context", "fault", "cut", "format", "tool", "limit", "wrong"]
_CONTEXT_ERRORS = {"ContextLengthError", "PromptTooLongError"}
_CONTEXT_LIMITS = {"context", "prompt_tokens", "response_tokens"}
_REPLY_LIMIT = "turn_tokens"


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of an episode, as its cause is found from it.

    Args:
        success: Whether it succeeded; None if the environment does not say.
        error: The error that ended it; None or empty without one.
        info: Info of the last step; empty without a step.
        truncated: Whether the last step was cut off by a limit.
        is_cut: Whether the model's last reply reached its token limit.
        calls: Calls of tools in the episode.
        failed_calls: Those that failed.
        grading: What the environment says about its grade; None if it says nothing.
    """

    success: bool | None
    error: Mapping[str, Any] | None
    info: Mapping[str, Any]
    truncated: bool
    is_cut: bool
    calls: int
    failed_calls: int
    grading: Grading | None

    @classmethod
    def of(cls, trajectory: Trajectory) -> "Ending":
        """Return the end of an episode."""
        turns = trajectory.turns
        made = turns[-1].generation if turns else None
        return cls._of(
            trajectory.success,
            trajectory.error,
            [turn.info for turn in turns],
            truncated=bool(turns and turns[-1].truncated),
            reason=None if made is None else made.finish_reason,
        )

    @classmethod
    def of_dict(cls, episode: Mapping[str, Any]) -> "Ending":
        """Return the end of an episode that is the result of ``Trajectory.to_dict``."""
        turns = episode["turns"]
        last = turns[-1] if turns else {}
        return cls._of(
            episode.get("success"),
            episode.get("error"),
            [turn.get("info") for turn in turns],
            truncated=bool(last.get("truncated")),
            reason=(last.get("generation") or {}).get("finish_reason"),
        )

    @classmethod
    def _of(
        cls,
        success: bool | None,  # noqa: FBT001 - a value of the record
        error: Mapping[str, Any] | None,
        infos: Sequence[Any],
        *,
        truncated: bool,
        reason: str | None,
    ) -> "Ending":
        known = [info if isinstance(info, Mapping) else {} for info in infos]
        last: Mapping[str, Any] = known[-1] if known else {}
        is_cut = reason == "length" or last.get("truncated_by") == _REPLY_LIMIT
        return cls(success, error, last, truncated, is_cut, *_calls(known), grading_in(last))


def _calls(infos: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """Return the number of calls, and of those that failed: listed, or else as tools count them."""
    listed = [info["tool_calls"] for info in infos if isinstance(info.get("tool_calls"), list)]
    calls = [call for some in listed for call in some if isinstance(call, Mapping)]
    if calls:
        return len(calls), sum(not call.get("ok") for call in calls)
    last = infos[-1] if infos else {}
    counts = [last.get(f"tool_{name}_counter") for name in ("use", "success")]
    made, succeeded = (one if isinstance(one, int) else 0 for one in counts)
    return made, made - succeeded


class Rule(NamedTuple):
    """A cause of failure.

    Args:
        cause: Its name.
        meaning: When it holds, as a sentence without its subject, the episode.
        holds: Returns whether it holds.
        reason: Returns what happened in words; empty to leave it to the environment's grading.
    """

    cause: Cause
    meaning: str
    holds: Callable[[Ending], bool]
    reason: Callable[[Ending], str]


def _has_error(ending: Ending) -> bool:
    return bool(ending.error)


def _is_context(ending: Ending) -> bool:
    kind = (ending.error or {}).get("type")
    return kind in _CONTEXT_ERRORS or str(ending.info.get("truncated_by")) in _CONTEXT_LIMITS


def _shown_error(ending: Ending) -> str:
    failure = Failure.of(ending.error)
    if failure is None:
        return ""
    return f"{failure.boundary} ({failure.kind}): {failure.message}".rstrip(": ")


def _shown_limit(ending: Ending) -> str:
    limit = ending.info.get("truncated_by")
    if limit is None:
        return ""
    said = "" if ending.grading is None else ending.grading["reason"]
    if str(limit) in said:
        return said
    return f"{limit} was reached: {said}".rstrip(": ")


RULES = (
    Rule(
        "context",
        "the prompt, or all tokens together, reached the model's context or a limit on them",
        _is_context,
        lambda ending: _shown_error(ending) or _shown_limit(ending),
    ),
    Rule("fault", "an error ended it", _has_error, _shown_error),
    Rule(
        "cut",
        "the model's last reply reached its token limit",
        lambda ending: ending.is_cut,
        lambda _: "the last reply reached its token limit",
    ),
    Rule(
        "format",
        "the last action did not have the form that was asked for",
        lambda ending: bool(ending.info.get("format_error")),
        lambda _: "",
    ),
    Rule(
        "tool",
        "no call of a tool succeeded",
        lambda ending: 0 < ending.calls == ending.failed_calls,
        lambda ending: f"{ending.calls} of {ending.calls} calls of tools failed",
    ),
    Rule("limit", "a limit of turns or time was reached", lambda e: e.truncated, _shown_limit),
    Rule("wrong", "it ended by its own rules, without success", lambda _: True, lambda _: ""),
)
"""The causes in the order in which they are tried; the first that holds counts."""


def cause_of(ending: Ending) -> tuple[Cause, str] | None:
    """Return why an episode failed: the cause, and the reason in words.

    Returns:
        The cause and the reason, which is empty if nobody has said one; None if the episode
        succeeded, or its environment does not say.
    """
    if not ending.error and ending.success is not False:
        return None
    rule = next(rule for rule in RULES if rule.holds(ending))
    said = "" if ending.grading is None else ending.grading["reason"]
    return rule.cause, rule.reason(ending) or said

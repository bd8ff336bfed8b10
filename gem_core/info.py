"""The keys of ``info`` that more than one part of the library reads or writes.

``info`` is an ordinary dict, and environments may add keys of their own. A key of this list always
has this meaning.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypedDict, cast, get_args

__all__ = ["Grading", "InfoKeys", "Verdict", "graded", "grading_in", "shortened", "without_grading"]

Verdict = Literal["correct", "partly correct", "wrong", "no answer"]
"""How good an answer is; ``no answer`` if there was nothing to compare."""
LONGEST = 2_000
"""The number of characters of a text of a ``Grading`` that are kept, from its beginning."""


class Grading(TypedDict):
    """Why an episode was paid what it was paid: ``info["grading"]`` of its last step.

    It contains the expected answer, so only the last step may have it: no agent acts after that.
    """

    question: str
    """What was asked."""
    expected: str | None
    """The correct answer, alternatives separated by `` | ``; None if no single one is known."""
    extracted: str | None
    """What was compared with it: the answer read from the reply or, of a program, the output of the
    test that failed. None if there was nothing to compare."""
    verdict: Verdict
    """How good it is."""
    reason: str
    """What decided, in words, such as ``test 3 of 5: wrong output``."""


def graded(
    *, question: str, expected: str | None, extracted: str | None, score: float, reason: str
) -> Grading:
    """Return the value of ``info["grading"]``, with its texts shortened.

    Args:
        question: What was asked.
        expected: The correct answer; None if no single one is known.
        extracted: What was compared with it; None if there was nothing to compare.
        score: How good that is: correct from 1, partly correct above 0. A bool is a score too.
        reason: What decided, in words.
    """
    verdict: Verdict = "wrong" if extracted is not None else "no answer"
    if score > 0:
        verdict = "correct" if score >= 1 else "partly correct"
    return {
        "question": shortened(question),
        "expected": None if expected is None else shortened(expected),
        "extracted": None if extracted is None else shortened(extracted),
        "verdict": verdict,
        "reason": shortened(reason),
    }


def grading_in(info: Any) -> Grading | None:
    """Return the ``grading`` of an info from a file, whoever wrote it; None if it has none."""
    found = info.get("grading") if isinstance(info, Mapping) else None
    if not isinstance(found, Mapping) or found.get("verdict") not in get_args(Verdict):
        return None
    texts = {name: found.get(name) for name in Grading.__annotations__}
    plain = {name: value if value is None else str(value) for name, value in texts.items()}
    return cast("Grading", {**plain, **{n: plain[n] or "" for n in ("question", "reason")}})


def without_grading(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return an info without the expected answer, for programs that may show it to a model."""
    return {name: value for name, value in info.items() if name != "grading"}


def shortened(text: str, longest: int = LONGEST) -> str:
    """Return the beginning of a text, with the number of characters that are left out."""
    left = len(text) - longest
    return text if left <= 0 else f"{text[:longest]}... ({left:,} more characters)"


class InfoKeys(TypedDict, total=False):
    """The shared keys of ``info``; every one is optional."""

    prefix: str
    """Text that an agent sees before the history. Environments set it."""
    suffix: str
    """Text that an agent sees after the history, such as the board of a game."""
    correct: bool
    """Whether the episode's task is solved; it decides the success of a trajectory."""
    grading: Grading
    """Of the last step: what was asked, expected and read from the reply, and what decided."""
    rewards: dict[str, float]
    """The parts of a reward by name, each before it is weighted."""
    reward_details: dict[str, Any]
    """The remarks of the parts of a reward on their values, by name."""
    spent: dict[str, float]
    """The use of models by the step: ``prompt_tokens``, ``completion_tokens``, ``cost``."""
    data: str
    """Of ``reset``: the name of the data that the task comes from."""
    data_version: str
    """Of ``reset``: the version of that data, such as a commit or ``sha256:`` and a hash."""
    format_error: bool
    """Whether the action could not be parsed."""
    parsed_action: str
    """The part of the action that counts; the history shows it instead of the action."""
    use_tool: bool
    """Whether the step ran a tool; the observation is the tool's output."""
    tool_schemas: list[dict[str, Any]]
    """Of ``reset``: the schemas of the tools, in OpenAI's format, for chat templates."""
    tool_messages: list[dict[str, Any]]
    """Chat messages of a tool call: the assistant's message, then the results."""
    tool_calls: list[dict[str, Any]]
    """The calls that an action made, with their results."""
    tool_type: str
    """Name of the tool that ran last."""
    tool_use_counter: int
    """Number of tool calls in the episode."""
    tool_success_counter: int
    """Number of tool calls in the episode that succeeded."""
    component: str
    """Name of the component of a mixture that the episode belongs to."""
    error: dict[str, Any]
    """The error of an environment of a vector, as ``gem_core.faults.error_record`` describes it."""
    final_observation: Any
    """With ``autoreset="same_step"``: the last observation of the episode that ended. Gymnasium's
    ``final_obs``."""
    final_info: dict[str, Any]
    """With ``autoreset="same_step"``: the last info of the episode that ended."""
    step_counter: int
    """Number of steps of the episode; set by ``episode_tracking``."""
    cumulative_rewards: float
    """Sum of the rewards of the episode so far; set by ``episode_tracking``."""
    prev_ep_step_counter: int
    """Of ``reset``: the ``step_counter`` of the previous episode."""
    prev_ep_cumulative_rewards: float
    """Of ``reset``: the ``cumulative_rewards`` of the previous episode."""

"""The keys of ``info`` that more than one part of the library reads or writes.

``info`` is an ordinary dict, and environments may add keys of their own. A key of this list always
has this meaning.
"""

from typing import Any, TypedDict

__all__ = ["InfoKeys"]


class InfoKeys(TypedDict, total=False):
    """The shared keys of ``info``; every one is optional."""

    prefix: str
    """Text that an agent sees before the history. Environments set it."""
    suffix: str
    """Text that an agent sees after the history, such as the board of a game."""
    correct: bool
    """Whether the episode's task is solved; it decides the success of a trajectory."""
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

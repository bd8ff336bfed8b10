"""Wrappers by name."""

from collections.abc import Callable
from functools import partial
from typing import Any

from gem.tools.tool_env_wrapper import ToolEnvWrapper
from gem.wrappers.episode_tracking_wrapper import EpisodeTrackingWrapper
from gem.wrappers.observation_wrapper import ObservationWrapper

__all__ = ["TOKENIZER_REQUIRED", "WRAPPER_FACTORY", "get_wrapper_fns"]

TOKENIZER_REQUIRED = ["concat_chat", "concat_chat_on_reset"]
"""Names of the wrappers that need ``tokenizer=``."""


def _with_python(env: Any, *, keep_error_last_line: bool = False, **rewards: float) -> Any:
    from gem.tools.python_code_tool import PythonCodeTool  # noqa: PLC0415 - a plugin's

    tool = PythonCodeTool(timeout=5, keep_error_last_line=keep_error_last_line)
    return ToolEnvWrapper(env, tools=[tool], max_tool_uses=5, **rewards)


def _with_search(env: Any, **rewards: float) -> Any:
    from gem.tools.search_tool import SearchTool  # noqa: PLC0415 - a plugin's

    tool = SearchTool(topk=3, timeout=5)
    return ToolEnvWrapper(env, tools=[tool], max_tool_uses=5, **rewards)


_UNPAID: dict[str, Any] = {"tool_reward": 0.0, "tool_success_reward": 0.0}

WRAPPER_FACTORY: dict[str, Callable[..., Any]] = {
    "python_tool": partial(_with_python, tool_reward=0.05, tool_success_reward=0.25),
    "python_tool_no_int_reward": partial(_with_python, **_UNPAID),
    "python_tool_no_int_reward_last_line_error": partial(
        _with_python, keep_error_last_line=True, **_UNPAID
    ),
    "search_tool": partial(_with_search, tool_reward=0.3, tool_success_reward=0.0),
    "search_tool_no_int_reward": partial(_with_search, **_UNPAID),
    "concat": partial(ObservationWrapper, include_action=False, include_chat_template=False),
    "concat_chat": partial(ObservationWrapper, include_action=True, include_chat_template=True),
    "concat_with_action": partial(
        ObservationWrapper, include_action=True, include_chat_template=False
    ),
    "concat_chat_on_reset": partial(
        ObservationWrapper,
        include_action=True,
        include_chat_template=False,
        apply_chat_template_on_reset=True,
    ),
    "episode_tracking": EpisodeTrackingWrapper,
}
"""Functions from an environment to the wrapped one; each makes its own tools."""


def get_wrapper_fns(wrappers: str, tokenizer: Any = None) -> list[Callable[..., Any]]:
    """Return the functions of some wrappers.

    Args:
        wrappers: Comma-separated names, the innermost first; empty for none.
        tokenizer: Tokenizer for the wrappers that need one.

    Raises:
        KeyError: There is no such wrapper.
    """
    names = [name.strip() for name in (wrappers or "").split(",") if name.strip()]
    found = []
    for name in names:
        function = WRAPPER_FACTORY[name]
        if tokenizer is not None and name in TOKENIZER_REQUIRED:
            function = partial(function, tokenizer=tokenizer)
        found.append(function)
    return found

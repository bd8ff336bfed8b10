"""Finds answers in responses of models."""

import re

from gem_tasks.parsing import last_tagged, unindented

__all__ = [
    "BoxedAnswer",
    "extract_code_from_model",
    "extract_last_boxed_answer",
    "extract_last_tagged_answer",
    "last_boxed_only_string",
    "remove_boxed",
]

_FENCE = re.compile(r"```[ \t]*+[\w+#.-]*+[ \t]*+\r?\n")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)


class BoxedAnswer(str):
    r"""The content of a box: a text that graders accept without its ``\boxed{}``."""

    __slots__ = ()


def last_boxed_only_string(string: str) -> str | None:
    r"""Return the last ``\boxed{...}`` (else ``\fbox{...}``) up to its closing brace.

    Returns:
        The box with its content; None if there is none, or it is not closed.
    """
    start = string.rfind("\\boxed")
    if start < 0:
        start = string.rfind("\\fbox")
    if start < 0:
        return None
    depth = 0
    for brace in _BRACE.finditer(string, start + 1):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if brace[0] == "}" and depth <= 0:
            return string[start : brace.end()]
    return None


def remove_boxed(s: str | None) -> str | None:
    r"""Return the content of a text ``\boxed{...}``; None for other texts."""
    if s is None or not (s.startswith("\\boxed{") and s.endswith("}")):
        return None
    return s[len("\\boxed{") : -1]


def extract_last_boxed_answer(solution: str) -> BoxedAnswer | None:
    r"""Return the content of the last ``\boxed{...}``; None without one."""
    content = remove_boxed(last_boxed_only_string(solution))
    return None if content is None else BoxedAnswer(content)


def extract_code_from_model(model_response: str) -> str | None:
    """Return the code between the last fences of three backticks; None without them."""
    code, fence = None, _FENCE.search(model_response)
    while fence is not None:
        end = model_response.find("```", fence.end())
        if end < 0:
            break
        code = model_response[fence.end() : end]
        fence = _FENCE.search(model_response, end + 3)
    return None if code is None else unindented(code.replace("\r\n", "\n"))


def extract_last_tagged_answer(model_response: str) -> str | None:
    """Return the content of the last ``<answer>...</answer>``; None without one."""
    return last_tagged(model_response)

"""The signatures of functions that pass their ``**options`` on to another one."""

import inspect
from collections.abc import Callable, Container
from typing import Any, TypeVar

__all__ = ["passes_options_to"]

Function = TypeVar("Function", bound=Callable[..., Any])


def passes_options_to(
    target: Callable[..., Any], *, without: Container[str] = ()
) -> Callable[[Function], Function]:
    """Return a decorator for a function whose ``**options`` go to ``target``.

    The function gets a signature with the keyword-only parameters of ``target`` in place of its
    ``**options``, so ``inspect.signature``, ``gem-core show`` and Hydra show them with their
    defaults, and ``make`` rejects any other. A function without ``**options`` does not change.

    Args:
        target: A function or class.
        without: Parameters of ``target`` that no caller may give.
    """

    def decorate(function: Function) -> Function:
        own = inspect.signature(function).parameters.values()
        merged = {one.name: one for one in own if one.kind is not one.VAR_KEYWORD}
        if len(merged) < len(own):
            for option in inspect.signature(target).parameters.values():
                if option.kind is option.KEYWORD_ONLY and option.name not in without:
                    merged.setdefault(option.name, option)
            vars(function)["__signature__"] = inspect.Signature(list(merged.values()))
        return function

    return decorate

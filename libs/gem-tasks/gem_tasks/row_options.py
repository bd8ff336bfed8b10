"""The options of every ``TaskEnv``: where its rows come from, in which order, and what they pay.

``TaskEnv`` owns these options. A subclass passes them on and does not repeat them::

    class Sums(TaskEnv):
        def __init__(self, *, tolerance: float = 0.0, **rows: Unpack[RowOptions]) -> None:
            self.tolerance = tolerance
            super().__init__(columns={"problem": str, "answer": str}, **rows)

``full_signature`` lists the options that such a ``**rows`` stands for, so ``inspect.signature``,
``gem-core show`` and Hydra show them with their defaults, and ``make`` rejects any other.
"""

import inspect
from collections.abc import Container
from typing import Any, TypedDict

__all__ = ["RowOptions", "full_signature"]


class RowOptions(TypedDict, total=False):
    """The options of every ``TaskEnv``, which documents each and gives its default."""

    dataset_name: str
    split: str | None
    data: Any
    shuffle: bool
    shard: str | None
    streaming: bool
    grader: Any
    rewards: Any


def full_signature(cls: type, *, without: Container[str]) -> inspect.Signature:
    """Return the signature of a class, with the options that its ``**options`` stand for.

    The ``**options`` of an ``__init__`` stand for the keyword options of the next ``__init__`` in
    the method resolution order, which is expected to receive them.

    Args:
        cls: The class.
        without: Options that an ``__init__`` gives to the next one and no caller may give.
    """
    own, *passed_on = _parameters_by_constructor(cls)
    merged = {parameter.name: parameter for parameter in own}
    for parameters in passed_on:
        for parameter in parameters:
            if parameter.name not in without:
                option = parameter.replace(kind=parameter.KEYWORD_ONLY)
                merged.setdefault(parameter.name, option)
    return inspect.Signature(list(merged.values()))


def _parameters_by_constructor(cls: type) -> list[list[inspect.Parameter]]:
    """Return the parameters of each ``__init__``, up to the first that takes no ``**options``."""
    found = []
    for base in cls.__mro__:
        if "__init__" not in vars(base):
            continue
        _self, *parameters = inspect.signature(vars(base)["__init__"]).parameters.values()
        found.append([one for one in parameters if one.kind is not one.VAR_KEYWORD])
        if len(found[-1]) == len(parameters):
            break
    return found

"""Makes the parts of a run: algorithms, losses, curricula, filters, shapers and writers."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import pydantic

from gem_core.config import describe_validation_error, part_kwargs
from gem_core.errors import ConfigError
from gem_core.extras import require
from gem_core.resolve import resolve
from gem_core.specs import Kind, Spec
from gem_train.algorithm import Algorithm
from gem_train.config import TrainConfig
from gem_train.specs import ALGORITHMS, ENGINES, FILTERS, LOSSES, SHAPERS

__all__ = ["Parts", "make_algorithm", "make_part", "parts_of"]

S = TypeVar("S", bound=Spec)


def make_part(kind: Kind[S], part: str | Mapping[str, Any] | S, *given: Any) -> Any:
    """Make the component that a part of a configuration names.

    Args:
        kind: ``ALGORITHMS``, ``LOSSES``, ...
        part: An id, ``module:NAME``, a mapping with such an ``id`` and parameters, or a spec.
        given: The leading arguments, which are not configuration.

    Raises:
        UnknownIdError: There is no such id; near ones are suggested.
        EntryPointError: It cannot be imported; the message names the plugin.
        UnknownKwargError: A parameter that it does not take; the message names those it takes.
        ConfigError: A parameter is missing or has a value that it cannot have.
    """
    spec = resolve(kind, part)
    name = f"The {spec.kind} {spec.id!r}"
    missing = [key for key, value in spec.parameters().items() if value is inspect.Parameter.empty]
    if missing:
        raise ConfigError(f"{name} needs the parameter {', '.join(missing)}.")
    try:
        return spec.make(*given, **part_kwargs(spec.load(), spec.kwargs))
    except pydantic.ValidationError as error:
        lines = "\n  ".join(describe_validation_error(error, spec.id))
        raise ConfigError(f"{name} cannot be made:\n  {lines}") from error


def make_algorithm(id: str, **parameters: Any) -> Algorithm:  # noqa: A002 - what users write
    """Return an algorithm.

    Args:
        id: Its id, such as ``rebn``, or ``module:NAME``.
        parameters: Its parameters.

    Raises:
        UnknownIdError: There is no such algorithm; near ids are suggested.
        EntryPointError: It cannot be imported, for example without torch.
        UnknownKwargError: It does not take one of the parameters.
        ConfigError: A parameter has a value that it cannot have, or it is not an algorithm.
    """
    made = make_part(ALGORITHMS, {"id": id, **parameters})
    if not isinstance(made, Algorithm):
        raise ConfigError(
            f"The algorithm {id!r} makes a {type(made).__name__}; it must be a subclass of "
            f"gem_train.algorithm.Algorithm."
        )
    return made


class Parts(NamedTuple):
    """The components that a run learns with.

    Args:
        algorithm: Computes the advantages.
        loss: The loss of a token.
        filters: Choose the groups that are learned from; the algorithm is the first, if it does.
        shapers: Change the rewards, one after the other.
    """

    algorithm: Algorithm
    loss: Callable[..., Any]
    filters: list[Any]
    shapers: list[Any]


def parts_of(config: TrainConfig) -> Parts:
    """Make the parts of a configuration; it raises as ``make_part`` does.

    The engine is looked up, but made only with the policy.

    Raises:
        ConfigError: A part is not of its kind.
        NotInstalledError: torch or transformers are not installed.
    """
    require("gem-train[torch]", "Training")
    resolve(ENGINES, config.sampling.engine)
    algorithm = make_algorithm(**config.algo)
    loss_id = config.loss.id or algorithm.loss
    loss = make_part(LOSSES, {"id": loss_id, **(config.loss.model_extra or {})})
    if not callable(loss):
        raise ConfigError(f"The loss {loss_id!r} makes {loss!r}, which cannot be called.")
    filters = _make_parts(FILTERS, config.filters, "filter_groups")
    if type(algorithm).filter_groups is not Algorithm.filter_groups:
        filters.insert(0, algorithm)
    return Parts(
        algorithm,
        loss,
        filters=filters,
        shapers=_make_parts(SHAPERS, config.shapers, "shape_rewards"),
    )


def _make_parts(kind: Kind[S], parts: Any, method: str) -> list[Any]:
    """Make each of several parts.

    Args:
        kind: Their kind.
        parts: A list of parts, or a mapping from any names to parts, as Hydra composes it.
        method: The method that each must have.
    """
    values = parts.values() if isinstance(parts, Mapping) else parts
    made = [make_part(kind, part) for part in values]
    for one in made:
        if not hasattr(one, method):
            raise ConfigError(f"The {kind} {type(one).__name__} has no method {method}.")
    return made

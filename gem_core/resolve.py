"""From what a caller writes to a spec: an id, a mapping with an id and parameters, or a spec."""

from collections.abc import Mapping
from typing import Any, TypeVar

from gem_core.errors import ConfigError
from gem_core.plugins import default_registry
from gem_core.specs import Kind, Spec, check_kwargs

__all__ = ["configured", "resolve"]

S = TypeVar("S", bound=Spec)


def resolve(kind: Kind[S], part: str | Mapping[str, Any] | Spec) -> S:
    """Return the spec that a part names, with the part's parameters.

    Args:
        kind: ``ENVS``, ``TOOLS``, ...
        part: An id; a mapping with an ``id`` and parameters; or a spec, which is returned.

    Raises:
        ConfigError: The part is something else, or a mapping without an id.
        UnknownIdError: No spec of this kind has the id.
        UnknownKwargError: A parameter that the entry point does not accept.
    """
    if isinstance(part, Spec) and part.kind == kind:
        return part  # type: ignore[return-value]
    if isinstance(part, str):
        return default_registry().find(kind, part)
    if not isinstance(part, Mapping):
        raise ConfigError(f"The {kind} must be an id or a mapping with an id; got {part!r}.")
    kwargs = dict(part)
    if "id" not in kwargs:
        raise ConfigError(f"The mapping of the {kind} needs an 'id'; got {kwargs!r}.")
    return configured(default_registry().find(kind, kwargs.pop("id")), kwargs)


def configured(spec: S, kwargs: Mapping[str, Any]) -> S:
    """Return a spec with some of its parameters replaced.

    Raises:
        UnknownKwargError: A parameter that the entry point does not accept.
    """
    if kwargs:
        check_kwargs(spec.load(), kwargs, f"{spec.kind} {spec.id!r}")
    return spec.with_kwargs(**kwargs)

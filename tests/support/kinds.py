"""Environments that differ in more than the value of a parameter."""

from gem_core.api import find_envs
from gem_core.specs import EnvSpec

__all__ = ["one_of_each_kind"]

_NAMES = {"dataset_name", "split", "data", "name"}
"""Parameters that choose data and not behaviour."""


def one_of_each_kind(*, levels: bool = True) -> list[EnvSpec]:
    """Return a spec for each class, namespace and set of parameters.

    Formats of terminal tasks and domains of dialogues have one each.

    Args:
        levels: Whether games have one for each level; otherwise the easy one of each game.
    """
    kinds: dict[tuple[str, ...], EnvSpec] = {}
    for spec in sorted(find_envs("*"), key=lambda spec: "easy" not in spec.id):
        named = sorted(set(spec.kwargs) - _NAMES)
        kinds.setdefault(
            (str(spec.entry_point), spec.namespace, *named, _family(spec, levels)), spec
        )
    return sorted(kinds.values(), key=lambda spec: spec.id)


def _family(spec: EnvSpec, levels: bool) -> str:  # noqa: FBT001 - private
    if spec.namespace == "game" and levels:
        return spec.id
    return spec.id.partition("-")[0] if spec.namespace in {"terminal", "tau"} else ""

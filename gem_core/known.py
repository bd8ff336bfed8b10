"""The ids of each of gem-core's own distributions, for messages about what is not installed.

``known.json`` is written by ``make docs``, from what the distributions register.
"""

import functools
import json

__all__ = ["install_hint", "known_ids", "known_namespaces"]


@functools.cache
def known_ids() -> dict[tuple[str, str], str]:
    """Return the distribution of each id, by the name of its kind and the id.

    Of environments, some ids are a whole namespace. The kind ``kind`` has the ids of kinds.
    """
    from importlib import resources  # noqa: PLC0415 - making an environment does not need it

    text = resources.files("gem_core").joinpath("known.json").read_text(encoding="utf-8")
    table: dict[str, dict[str, list[str]]] = json.loads(text)
    return {
        (kind, one): distribution
        for distribution, kinds in table.items()
        for kind, ids in kinds.items()
        for one in ids
    }


@functools.cache
def known_namespaces(kind: str) -> frozenset[str]:
    """Return the namespaces of the ids of a kind, whether they are installed or not.

    Args:
        kind: Name of the kind, such as ``environment``.
    """
    pairs = (one.partition(":") for name, one in known_ids() if name == kind)
    is_namespace = kind == "environment"
    return frozenset(head for head, colon, _ in pairs if colon or is_namespace)


def install_hint(kind: str, spec_id: str) -> str:
    """Return a sentence that names the distribution to install for an id.

    Args:
        kind: Name of the spec's kind, such as ``environment``.
        spec_id: The id, or the config path ``math/Sample``.

    Returns:
        The sentence; empty if the distribution is installed, or the id is not known.
    """
    known, spec_id = known_ids(), spec_id.replace("/", ":", 1)
    namespace = spec_id.partition(":")[0]
    distribution = known.get((kind, spec_id)) or known.get((kind, namespace))
    if distribution is None:
        return ""
    from importlib import metadata  # noqa: PLC0415 - it imports much

    try:
        metadata.distribution(distribution)
    except metadata.PackageNotFoundError:
        return f"It is in {distribution}, which is not installed: pip install {distribution}."
    return ""

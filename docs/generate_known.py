"""Writes gem_core/known.json: what each of our distributions has.

Messages about what is not installed name it. `make docs` runs it. Of environments, a namespace
stands for all ids in it where one distribution has them all.
"""

import json
from collections import defaultdict
from pathlib import Path

from gem_core.plugins import default_registry, load_plugins
from gem_core.specs import ENVS, FAMILIES, KINDS, Kind

__all__ = ["PLACE", "table"]

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "gem_core" / "known.json"
_LIBS = {one.name for one in ROOT.glob("libs/*")}
_OURS = _LIBS | {one.parent.name for one in ROOT.glob("plugins/*/pyproject.toml")}

Table = dict[str, dict[str, list[str]]]


def table() -> Table:
    """Return ids by distribution and kind, and the kinds that a distribution declares."""
    found: Table = {name: defaultdict(list) for name in sorted(_OURS)}
    for kind in default_registry().kinds():
        ids = _ids(kind)
        sources = set(ids.values())
        home = "gem-core" if kind in KINDS else _home(kind, sources)
        if home in _OURS:
            found[home]["kind"].append(kind.id)
        if sources - {home}:  # the others are there wherever the kind is known
            for name, source in ids.items():
                found[source][kind.name].append(name)
    return {name: ids for name, ids in found.items() if ids}


def _home(kind: Kind, sources: set[str]) -> str:
    """Return the distribution that declares a kind: that of its check, or else a library."""
    checks = kind.check.partition(".")[0].replace("_", "-")
    return checks or next(iter(sources & _LIBS or sources), "")


def _ids(kind: Kind) -> dict[str, str]:
    """Return the distribution of each id that is one of ours."""
    specs = default_registry().list(kind) if kind != FAMILIES else []
    ids = {spec.id: spec.source.partition(" ")[0] for spec in specs}
    if kind == ENVS:
        families = default_registry().list(FAMILIES)
        ids = _shortened(ids) | {one.id: one.source.partition(" ")[0] for one in families}
    return {name: source for name, source in ids.items() if source in _OURS}


def _shortened(ids: dict[str, str]) -> dict[str, str]:
    """Return a namespace for its ids where all of them are in one distribution."""
    homes = defaultdict(set)
    for name, source in ids.items():
        homes[name.partition(":")[0]].add(source)
    short = {}
    for name, source in ids.items():
        namespace = name.partition(":")[0]
        short[namespace if len(homes[namespace]) == 1 else name] = source
    return short


def main() -> None:
    """Write the file; refuse if a distribution is not installed."""
    installed = {one.distribution.partition(" ")[0] for one in load_plugins().statuses}
    if missing := sorted(_OURS - installed):
        raise SystemExit(f"Install first: {', '.join(missing)}.")
    PLACE.write_text(json.dumps(table(), indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

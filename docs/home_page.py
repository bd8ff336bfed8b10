"""Writes the parts of the home page that say what is installed: families, version, citation."""

from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml
from generate_catalogue import PAGES
from pictures import FAMILIES, picture

from gem_core import EnvSpec, find_envs

__all__ = ["PARTS", "citation", "families"]

CITATION = Path(__file__).parents[1] / "CITATION.cff"


def families() -> str:
    """Return a card for each family: a picture, the number of its ids, what it teaches."""
    specs: dict[str, list[EnvSpec]] = {}
    for spec in find_envs("*"):
        specs.setdefault(spec.namespace, []).append(spec)
    shown = [name for name in FAMILIES if name in specs]
    names = [*shown, *sorted({*specs} - {*shown})]
    cards = [line for name in names for line in _card(name, specs[name])]
    return "\n".join(['<div class="families" markdown="1">\n', *cards, "</div>"])


def _card(name: str, specs: list[EnvSpec]) -> Iterator[str]:
    teaches, _ = Counter(spec.metadata.get("teaches", "") for spec in specs).most_common(1)[0]
    ids = ", ".join(spec.id.partition(":")[2] for spec in specs)
    told = ids if len(specs) > 1 else specs[0].description
    yield '<div class="family" markdown="1">\n'
    yield f"[`{name}:`]({PAGES[name]}) {len(specs)} environment{'s' * (len(specs) > 1)}\n"
    yield picture(FAMILIES[name]) if name in FAMILIES else f'<pre class="turns">{told}</pre>'
    yield f"\n{teaches}\n\n</div>"


def citation() -> dict[str, Any]:
    """Return what CITATION.cff says."""
    facts: dict[str, Any] = yaml.safe_load(CITATION.read_text("utf-8"))
    return facts


def _version() -> str:
    facts = citation()
    places = [f"[repository]({facts['repository-code']})"] if "repository-code" in facts else []
    places += ["[changelog](../CHANGELOG.md)", "[contributing](../CONTRIBUTING.md)"]
    return f"Version {version('gem-core')}, {facts['license']}: {', '.join(places)}."


def _bibtex() -> str:
    facts = citation()
    authors = " and ".join(f"{{{one['name']}}}" for one in facts["authors"])
    fields = {"title": facts["title"], "author": authors, "version": facts["version"]}
    fields |= {"url": facts["repository-code"]} if "repository-code" in facts else {}
    lines = [f"  {name} = {{{text}}}," for name, text in fields.items()]
    return "\n".join(["```bibtex", "@software{gem_core,", *lines, "}", "```"])


PARTS = {"families": families, "version": _version, "citation": _bibtex}
"""What takes the place of ``<!-- NAME -->``."""

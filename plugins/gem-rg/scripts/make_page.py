# /// script
# requires-python = ">=3.11"
# dependencies = ["gem-rg"]
# ///
"""Writes the table of docs/reasoning-gym.md: the tasks, their levels and config fields.

Usage: ``python plugins/gem-rg/scripts/make_page.py``. It tries every level, which takes a minute.
"""

from collections.abc import Iterator
from pathlib import Path

from rich.progress import track

from gem_core.errors import ConfigError
from gem_rg.catalog import DESCRIPTIONS
from gem_rg.datasets import describe, make_recipe

PAGE = Path(__file__).parents[3] / "docs" / "reasoning-gym.md"
MARK = "<!-- The rest is written by plugins/gem-rg/scripts/make_page.py. -->\n"


def main() -> None:
    """Rewrite the page below the mark."""
    above = PAGE.read_text(encoding="utf-8").partition(MARK)[0]
    PAGE.write_text(above + MARK + "\n".join(_rows()) + "\n", encoding="utf-8")


def _rows() -> Iterator[str]:
    yield "\n| id | task | levels | attributes of the curriculum | fields of the config |"
    yield "|---|---|---|---|---|"
    for name, text in track(DESCRIPTIONS.items(), "trying levels"):
        described = describe(name)
        curriculum: dict[str, list[object]] = described["curriculum"]
        attributes = ", ".join(f"{key} ({len(one)})" for key, one in curriculum.items())
        fields = ", ".join(described["config"])
        levels = _levels(name, max(map(len, curriculum.values()), default=0))
        yield f"| `rg:{name}` | {text} | {levels} | {attributes} | {fields} |"


def _levels(name: str, count: int) -> str:
    if not count:
        return "none"
    refused = [str(level) for level in range(count) if _is_refused(name, level)]
    if len(refused) == count:
        return f"{count}, all refused"
    return f"0-{count - 1}" + (f" but for {', '.join(refused)}" if refused else "")


def _is_refused(name: str, level: int) -> bool:
    try:
        make_recipe(name, level=level)
    except ConfigError:
        return True
    return False


if __name__ == "__main__":
    main()

"""Draws docs/architecture.md from what the distributions import. `make docs` runs it."""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

__all__ = ["PLACE", "drawn"]

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "docs" / "architecture.md"
_BEGIN, _END = "<!-- drawn: begin -->", "<!-- drawn: end -->"
_TIERS = {"plugins": "plugins/*", "libraries": "libs/*"}


def _folders() -> dict[str, Path]:
    """Return the folder of each distribution of a tier, by name."""
    return {
        tomllib.loads(file.read_text(encoding="utf-8"))["project"]["name"]: file.parent
        for pattern in _TIERS.values()
        for file in sorted(ROOT.glob(f"{pattern}/pyproject.toml"))
    }


def _imports(folder: Path, package: str) -> Iterator[str]:
    """Yield the top-level packages that the modules of a package import."""
    for file in (folder / package).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield node.module.partition(".")[0]
            elif isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)


def drawn() -> str:
    """Return the picture: what each distribution imports of the others, beside gem-core."""
    folders = _folders()
    packages = {name: "gem" if name == "gem-compat" else name.replace("-", "_") for name in folders}
    homes = {package: name for name, package in packages.items()}
    lines = []
    for tier, pattern in _TIERS.items():
        for name in (name for name, folder in folders.items() if folder.match(pattern)):
            found = {homes.get(one) for one in _imports(folders[name], packages[name])}
            others = sorted(one for one in found - {None, name} if one)
            lines.append(f"{tier:10}  {name:12}  {'--> ' + '  '.join(others) if others else ''}")
        lines.append("")
    lines.append("core        gem-core      imports none of them, and all of them import it")
    return "\n".join(line.rstrip() for line in lines)


def main() -> None:
    """Write the picture into the page."""
    before, _, rest = PLACE.read_text(encoding="utf-8").partition(_BEGIN)
    _, _, after = rest.partition(_END)
    picture = f"{_BEGIN}\n```text\n{drawn()}\n```\n{_END}"
    PLACE.write_text(before + picture + after, encoding="utf-8")


if __name__ == "__main__":
    main()

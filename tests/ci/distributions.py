"""The lists of distributions in pyproject.toml, from the folders in ``libs`` and ``plugins``.

python tests/ci/distributions.py            say whether anything would change
python tests/ci/distributions.py --write    write it

A new plugin is in all of them after that, without extras; those that are there are kept. A new
library also has a layer of its own in the import contract of the tiers.
"""

import argparse
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILE = ROOT / "pyproject.toml"
ALONE = "gem-compat"
"""The distribution whose package, ``gem``, would take the place of gem-llm's: it is not in
``gem-core[all]``, and it may import the plugins."""
ABOVE = ["gem-swe"]
"""Those that may import other plugins: environments of gem-swe are terminal environments."""


def main() -> None:
    """Do what was asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write pyproject.toml")
    before = FILE.read_text(encoding="utf-8")
    after = listed(before)
    if parser.parse_args().write:
        FILE.write_text(after, encoding="utf-8")
    print(f"{FILE.name} {'is as it should be' if before == after else 'changes: --write'}.")


def listed(text: str) -> str:
    """Return the text of pyproject.toml with all distributions in its lists."""
    libs, plugins = (_names(folder) for folder in ("libs", "plugins"))
    others = [name for name in plugins if name != ALONE]
    packages = ["gem", "gem_core", *map(_package, (*libs, *others))]
    folders = [f"libs/{name}" for name in libs] + [f"plugins/{name}" for name in plugins]
    own = "$MYPY_CONFIG_FILE_DIR"
    bases = ":".join([own, *(f"{own}/{folder}" for folder in (*folders, "benchmarks"))])
    extras = dict(re.findall(r'^  "(gem-\w+)(\[.*\])', text, flags=re.MULTILINE))
    release = text.partition('"gem-code')[2].partition('"')[0]
    lines = "".join(f'  "{name}{extras.get(name, "")}{release}",\n' for name in others)
    text = _replaced(text, r"(?<=^all = \[\n)(?:  \"gem-.*\n)+", lines)
    text = _replaced(text, r"(?<=^mypy_path = ).*", f'"{bases}"')
    text = _replaced(text, r"(?<=^root_packages = ).*", str(packages).replace("'", '"'))
    tiers = [ABOVE, [name for name in others if name not in ABOVE]]
    layers = "".join(f'  "{" | ".join(map(_package, tier))}",\n' for tier in tiers)
    return _replaced(text, r'(?<=^  "gem",\n)(?:  "gem_.*\n)+?(?=  "gem_rollout )', layers)


def _names(folder: str) -> list[str]:
    return sorted(one.parent.name for one in ROOT.glob(f"{folder}/*/pyproject.toml"))


def _package(distribution: str) -> str:
    return distribution.replace("-", "_")


def _replaced(text: str, pattern: str, new: str) -> str:
    replaced, count = re.subn(pattern, lambda _: new, text, count=1, flags=re.MULTILINE)
    if count != 1:
        raise SystemExit(f"{FILE} has no line {pattern!r}.")
    return replaced


if __name__ == "__main__":
    main()

"""The version, which all distributions share: shows, checks or sets it.

python tests/ci/version.py                  print the version
python tests/ci/version.py --check 0.2.0    exit with 1 if it is another one, or not one
python tests/ci/version.py --set 0.2.0      write it wherever it is written
"""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
VERSION = re.compile(r'^((?:__version__|version) = )".+"$|^(version: ).+$', re.MULTILINE)
OURS = re.compile(r'"(gem-[a-z]+(?:\[[a-z,]+\])?)>=[^,"]+,<[\d.]+"')
"""A requirement of one of our distributions: of the same minor version."""


def main() -> None:
    """Do what was asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", metavar="VERSION")
    parser.add_argument("--set", metavar="VERSION")
    options = parser.parse_args()
    if options.set:
        write(options.set)
    found = {match[0].split()[-1].strip('"') for match in matches()}
    print(", ".join(sorted(found)))
    if options.check and found != {options.check}:
        sys.exit(f"The version is not {options.check}: python tests/ci/version.py --set it.")


def versioned() -> list[Path]:
    """Return the files that have the version: every project, the core's module, the citation."""
    projects = [
        path for tier in ("libs", "plugins") for path in ROOT.glob(f"{tier}/*/pyproject.toml")
    ]
    others = ["pyproject.toml", "gem_core/__init__.py", "CITATION.cff"]
    return [*(ROOT / one for one in others), *sorted(projects)]


def matches() -> list[re.Match[str]]:
    """Return where the version is in each file that has it."""
    found = [(path, VERSION.search(path.read_text("utf-8"))) for path in versioned()]
    missing = [str(path) for path, match in found if match is None]
    if missing:
        sys.exit(f"There is no version in {', '.join(missing)}.")
    return [match for _, match in found if match is not None]


def write(version: str) -> None:
    """Write the version of all distributions, and what they require of each other."""
    parts = re.fullmatch(r"(\d+)\.(\d+)\.\d+((?:a|b|rc)\d+)?", version)
    if parts is None:
        sys.exit(f"{version!r} is not a version such as 0.2.0 or 0.2.0rc1.")
    minor = f"{parts[1]}.{parts[2]}"
    lowest = version if parts[3] else minor  # >=0.2 would exclude 0.2.0rc1
    needed = rf'"\1>={lowest},<{parts[1]}.{int(parts[2]) + 1}"'
    for path in versioned():
        text = VERSION.sub(lambda match: _with(match, version), path.read_text("utf-8"), count=1)
        path.write_text(OURS.sub(needed, text))
    templates = ROOT.glob("templates/*/pyproject.toml")
    for path in (ROOT / "gem_core" / "template" / "pyproject.toml", *templates):
        path.write_text(OURS.sub(needed, path.read_text("utf-8")))


def _with(match: re.Match[str], version: str) -> str:
    return f'{match[1]}"{version}"' if match[1] else f"{match[2]}{version}"


if __name__ == "__main__":
    main()

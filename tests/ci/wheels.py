"""Builds every distribution, checks what would be published, and installs it as a user would.

  python tests/ci/wheels.py                    wheels and sdists in dist/, checked by twine; all
                                               installed together, then the README is run
  python tests/ci/wheels.py --each             also each distribution alone, with what it needs
  python tests/ci/wheels.py --python python3.12 python3.13

It runs in the environment of the development tools (build, twine); everything is installed into
fresh environments.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = [ROOT, *sorted(ROOT.glob("libs/*")), *sorted(ROOT.glob("plugins/*"))]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)

IMPORTS = """
import importlib, pkgutil, re, sys
from gem_core.extras import install_command

package = importlib.import_module(sys.argv[1])
brought_along = "^gem_adapters|[.](testing|programs|world_samples|pytest_plugin|__main__)"
for one in pkgutil.walk_packages(package.__path__, package.__name__ + ".", lambda name: None):
    if not re.search(brought_along, one.name):
        try:
            importlib.import_module(one.name)
        except ImportError as error:
            if "pip install" not in str(error) and not install_command(error.name or "", one.name):
                print(f"{one.name}: {error}")
"""
"""Imports all modules of a package, and prints those that need what is not declared."""


def main() -> None:
    """Build, check, install, run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", nargs="+", default=[sys.executable], help="install for these")
    parser.add_argument("--each", action="store_true", help="install each distribution alone, too")
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="where to build")
    options = parser.parse_args()
    shutil.rmtree(options.dist, ignore_errors=True)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda folder: build(folder, options.dist), FOLDERS))
    files = [str(one) for one in sorted(options.dist.iterdir())]
    run([sys.executable, "-m", "twine", "check", "--strict", *files])
    print(f"{len(files)} files in {options.dist}", flush=True)
    for python in options.python:
        install_all(Installer(python, options.dist), each=options.each)


def build(folder: Path, dist: Path) -> None:
    """Build the sdist of a distribution, and from it the wheel."""
    run([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(dist), str(folder)])


@dataclass(frozen=True)
class Installer:
    """Installs our distributions into fresh environments of an interpreter."""

    python: str
    dist: Path

    def install(self, names: list[str], place: Path) -> Path:
        """Install distributions; return the folder of their programs."""
        run([self.python, "-m", "venv", str(place)])
        pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        run([*pip, "--disable-pip-version-check", "--find-links", str(self.dist), *names])
        print(f"{self.python}: installed {' '.join(names)}", flush=True)
        return place / "bin"


def install_all(installer: Installer, *, each: bool) -> None:
    """Install everything together and run the README; then each distribution alone."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        run_readme(installer.install(["gem-core[all]"], place / "all"), place)
        shutil.rmtree(place / "all")
        for name in map(name_of, FOLDERS) if each else ():
            load_alone(installer, name, place / name)


def run_readme(bin_: Path, place: Path) -> None:
    """Run what the README shows: its Python in order, and its commands."""
    blocks = BLOCK.findall((ROOT / "README.md").read_text("utf-8"))
    program = "\n".join(text for language, text in blocks if language == "python")
    run([str(bin_ / "python"), "-W", "error", "-c", program], place)
    for text in (text for language, text in blocks if language == "console"):
        for line in re.findall(r"^\$ (.*)$", text, re.MULTILINE):
            run(["bash", "-c", f'PATH="{bin_}:$PATH"; {line}'], place)
    run([str(bin_ / "gem-core"), "eval", "suite=quick", "agent=oracle", "episodes=2"], place)
    print("the README runs", flush=True)


def load_alone(installer: Installer, name: str, place: Path) -> None:
    """Install a distribution alone, load what it registers, and import its modules."""
    bin_ = installer.install([name], place)
    shown = run([str(bin_ / "gem-core"), "plugins"], place)
    if "failed" in shown:
        sys.exit(f"{name} alone:\n{shown}")
    package = "gem" if name == "gem-compat" else name.replace("-", "_")
    if missing := run([str(bin_ / "python"), "-c", IMPORTS, package], place):
        sys.exit(f"{name} alone:\n{missing}")
    shutil.rmtree(place)


def name_of(folder: Path) -> str:
    """Return the name of the distribution in a folder."""
    table = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))
    return str(table["project"]["name"])


def run(command: list[str], folder: Path | None = None) -> str:
    """Run a program; end with its output if it fails."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}\n{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()

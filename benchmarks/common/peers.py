"""Other libraries, each in its own virtual environment, and words for gem-llm's word games."""

import os
import random
import shutil
import subprocess
import sys
from argparse import ArgumentParser
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "GEM_LLM",
    "INSPECT_AI",
    "TRL",
    "VERIFIERS",
    "Peer",
    "add_peer_argument",
    "find_or_install",
    "write_words",
]

_NEWEST_PYTHON = (3, 12)
_WORDS = {"en-basic": 850, "en": 236_736}
"""Files of the corpus that gem-llm would download, with their numbers of words."""


@dataclass(frozen=True)
class Peer:
    """A library to compare with.

    Args:
        name: Its name.
        version: The version that is measured.
        undeclared: Further packages that the benchmarks need there, with or without a version.
    """

    name: str
    version: str
    undeclared: tuple[str, ...] = ()

    @property
    def requirement(self) -> str:
        """The requirement for pip."""
        return f"{self.name}=={self.version}"

    @property
    def venv(self) -> Path:
        """Its virtual environment."""
        return Path(__file__).resolve().parents[2] / f".venv-{self.name}"


# gem-llm imports these in MathEnv, Crosswords and MCPTool without depending on them. It has no
# client for models, so its rollouts use openai.
GEM_LLM = Peer("gem-llm", "0.1.0", ("datasets", "fastmcp", "openai", "pandas", "pylatexenc"))
INSPECT_AI = Peer("inspect-ai", "0.3.285", ("openai",))
# The environments, read from the checkout, need pluggy.
TRL = Peer("trl", "1.16.0", ("torch==2.13.0", "jinja2", "pluggy"))
VERIFIERS = Peer("verifiers", "0.4.0")


def find_or_install(peer: Peer = GEM_LLM) -> Path:
    """Return the interpreter of a peer; install the peer on the first call.

    Raises:
        SystemExit: The peer cannot be installed.
    """
    python = peer.venv / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if _has_peer(python, peer):
        return python
    requirement = peer.requirement
    print(f"Installing {requirement} into {peer.venv} (once; some minutes)", file=sys.stderr)
    try:
        subprocess.run([_base_python(), "-m", "venv", str(peer.venv)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", requirement, *peer.undeclared]
        subprocess.run(install, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(
            f"{requirement} could not be installed ({error}). Make an environment that has it at "
            f"{peer.venv}, or name its interpreter: --peer-python."
        )
    return python


def add_peer_argument(parser: ArgumentParser) -> None:
    """Add the option ``--peer-python``."""
    parser.add_argument(
        "--peer-python",
        metavar="PATH",
        default=os.environ.get("GEM_LLM_PYTHON"),
        help="interpreter that has gem-llm 0.1.0; default: $GEM_LLM_PYTHON, else it is installed",
    )


def _has_peer(python: Path, peer: Peer) -> bool:
    name, version = peer.name, peer.version
    others = [one.partition("==")[0] for one in peer.undeclared]
    look = (
        f"import importlib.metadata as m, sys; [m.version(name) for name in {others}]; "
        f"sys.exit(m.version({name!r}) != {version!r})"
    )
    if not python.exists():
        return False
    return (
        subprocess.run([str(python), "-c", look], capture_output=True, check=False).returncode == 0
    )


def _base_python() -> str:
    """Return an interpreter that peers support: ours, unless that is too new."""
    if sys.version_info[:2] <= _NEWEST_PYTHON:
        return sys.executable
    return shutil.which("python3.12") or shutil.which("python3.11") or sys.executable


def write_words(folder: Path) -> None:
    """Write an NLTK ``words`` corpus of made-up words, as large as the real one."""
    corpus = folder / "corpora" / "words"
    corpus.mkdir(parents=True)
    (corpus / "README").write_text("Made-up words.\n")
    for name, count in _WORDS.items():
        (corpus / name).write_text("\n".join(_made_up_words(count)) + "\n")


def _made_up_words(count: int) -> list[str]:
    """Return distinct words of 3 to 8 letters, alternating consonants and vowels."""
    rng = random.Random(0)
    syllables = [consonant + vowel for consonant in "bcdfghklmnprstvw" for vowel in "aeiou"]
    words: dict[str, None] = {}
    while len(words) < count:
        words["".join(rng.choices(syllables, k=4))[: rng.randint(3, 8)]] = None
    return list(words)

"""gem-llm 0.1.0 in a virtual environment of its own, and words for its word games."""

import random
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["VENV", "PeerError", "find_or_install", "write_words"]

REQUIREMENT = "gem-llm==0.1.0"
UNDECLARED = ("datasets", "fastmcp", "pandas", "pylatexenc")
"""What gem-llm imports in MathEnv, Crosswords and MCPTool without depending on it."""
VENV = Path(__file__).resolve().parent.parent / ".venv-gem-llm"
_NEWEST_PYTHON = (3, 12)
_WORDS = {"en-basic": 850, "en": 236_736}
"""The corpus that gem-llm would download: its files and how many words they have."""


class PeerError(RuntimeError):
    """gem-llm could not be installed."""


def find_or_install() -> Path:
    """Return the interpreter that has gem-llm; install it first if that was never done.

    Raises:
        PeerError: It cannot be installed here.
    """
    python = VENV / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if _has_peer(python):
        return python
    print(f"Installing {REQUIREMENT} into {VENV} (once; some minutes)", file=sys.stderr)
    try:
        subprocess.run([_base_python(), "-m", "venv", str(VENV)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", REQUIREMENT, *UNDECLARED]
        subprocess.run(install, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise PeerError(
            f"{REQUIREMENT} could not be installed ({error}). Give the interpreter of an "
            f"environment that has it: --peer-python PATH."
        ) from error
    return python


def _has_peer(python: Path) -> bool:
    name, version = REQUIREMENT.split("==")
    look = (
        f"import importlib.metadata as m, sys; [m.version(name) for name in {UNDECLARED}]; "
        f"sys.exit(m.version({name!r}) != {version!r})"
    )
    if not python.exists():
        return False
    return (
        subprocess.run([str(python), "-c", look], capture_output=True, check=False).returncode == 0
    )


def _base_python() -> str:
    """Return an interpreter that gem-llm supports: ours, unless that is too new."""
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
    """Return distinct words of 3 to 8 letters, in which consonants and vowels take turns."""
    rng = random.Random(0)
    syllables = [consonant + vowel for consonant in "bcdfghklmnprstvw" for vowel in "aeiou"]
    words: dict[str, None] = {}
    while len(words) < count:
        words["".join(rng.choices(syllables, k=4))[: rng.randint(3, 8)]] = None
    return list(words)

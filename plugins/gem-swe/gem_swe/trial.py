"""Run the tests of a repository of ours on the host, in a process that is limited.

Only code that we wrote, and changed by ``gem_swe.mutations``, runs here: what agents write runs on
machines.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from gem_swe import guest
from gem_swe.observations import Observed, read_observed
from gem_swe.probes import Probed

__all__ = ["GUEST", "STARTED", "guest_input", "try_tests"]

GUEST = Path(guest.__file__).read_text("utf-8")
"""The program that runs probes."""
STARTED = "started\n"
"""What it prints first, before any code of the repository runs."""
SECONDS = 2.0
"""Seconds that a test may take."""
_ALL_SECONDS = 20.0
_MEMORY = 1 << 30


def guest_input(probed: Probed, *, traced: Mapping[str, list[str]] | None = None) -> str:
    """Return what the guest reads: the tests, and nothing that they expect.

    Args:
        probed: The tests.
        traced: Names of functions by the path of their file, whose calls are noted; see ``guest``.
    """
    return json.dumps({"tests": dict(probed.sources), "seconds": SECONDS, "traced": traced or {}})


def try_tests(
    files: Mapping[str, bytes],
    probed: Probed,
    *,
    hash_seed: int = 0,
    traced: Mapping[str, list[str]] | None = None,
) -> Observed:
    """Return what is observed of a repository.

    Args:
        files: Its files.
        probed: The tests to run.
        hash_seed: The seed of the hashes of texts, which decides the order of sets.
        traced: See ``guest_input``.
    """
    with tempfile.TemporaryDirectory(prefix="gem-swe-") as folder:
        for path, content in files.items():
            place = Path(folder, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        try:
            done = subprocess.run(  # noqa: S603 - it is a program of ours
                [sys.executable, "-B", "-s", "-S", "-P", "-c", GUEST, str(_MEMORY)],
                cwd=folder,
                env={"PYTHONHASHSEED": str(hash_seed), "PATH": os.defpath},
                input=guest_input(probed, traced=traced),
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                timeout=_ALL_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {}
    return read_observed(done.stdout, probed.known)

"""The first environment of a process, beside other plugins."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

__all__ = ["GROWTH", "SIZES", "TITLE", "UNIT", "measure"]

SIZES = (8, 32, 128)
UNIT = "ms of CPU"
TITLE = "make of a game after `import gem_core`, with n further plugins installed"
GROWTH = 0
_REPEATS = 5
_MAKE = """
import time
import gem_core
started = time.process_time()
gem_core.make("game:GuessTheNumber-v0-easy")
print((time.process_time() - started) * 1000)
"""
_PLUGIN = """
from gem_core import EnvSpec, hookimpl

@hookimpl
def gem_register(registry):
    registry.add(EnvSpec(id="row:{number}", entry_point="collections:Counter"))
"""


def measure(size: int) -> float:
    """Return the milliseconds of CPU in a fresh process; the least of a few."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(size):
            _install(Path(folder), number)
        path = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))
        command = [sys.executable, "-c", _MAKE]
        environ = {**os.environ, "PYTHONPATH": path}
        return min(float(subprocess.check_output(command, env=environ)) for _ in range(_REPEATS))


def _install(folder: Path, number: int) -> None:
    """Write what an installer writes."""
    name = f"gem_row_{number}"
    (folder / f"{name}.py").write_text(_PLUGIN.format(number=number))
    notes = folder / f"{name}-1.0.dist-info"
    notes.mkdir()
    (notes / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {name}\nVersion: 1.0\n")
    (notes / "entry_points.txt").write_text(f"[gem]\n{name} = {name}\n")

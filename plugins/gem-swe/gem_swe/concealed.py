"""Keep what is to be written away from the machine of an agent."""

import shlex
from collections.abc import Iterable
from pathlib import Path

from gem_core.errors import MachineError
from gem_workers.machine import Machine

__all__ = ["conceal"]

_OURS = str(Path(__file__).resolve().parent)
"""The folder with the repositories as they should be, which machines see if it is in ``/usr``."""


def conceal(machine: Machine, paths: Iterable[str]) -> None:
    """Remove our repositories and other paths from a machine; nothing changes outside of it.

    Args:
        machine: The machine.
        paths: Absolute paths, which need not exist; the last part may have ``*`` for any text.

    Raises:
        MachineError: One cannot be removed, such as on machines without overlayfs.
    """
    words = " ".join(map(_word, (_OURS, *paths)))
    script = (
        f'for one in {words}; do if [ -e "$one" ]; then rm -rf "$one" 2>/dev/null; '
        '[ -z "$(find "$one" ! -type d 2>/dev/null | head -n 1)" ] || echo "$one"; fi; done'
    )
    left = machine.run(script, user="root", cwd="/").stdout.strip()
    if left:
        raise MachineError(
            f"The machine shows {left}, where the solution can be read, and it cannot be removed. "
            f"Use machines with overlayfs, or install gem-swe outside of /usr."
        )


def _word(path: str) -> str:
    """Return a path as a shell expands it."""
    folder, _, name = path.rpartition("/")
    return f"{shlex.quote(folder)}/{'*'.join(map(shlex.quote, name.split('*')))}"

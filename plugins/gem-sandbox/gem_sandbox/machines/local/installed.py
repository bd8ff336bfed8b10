"""Programs before those of a machine, which install nothing that is there already.

They are asked first where a Dockerfile or tests run ``apt-get``, ``pip``, ``uv`` and others. What
is there in the version that is asked for is not installed again, and needs no network; everything
else is left to the machine's own program. They are in a folder of memory that each machine gets
anew, and that no layer, snapshot or copy holds.
"""

from importlib.resources import files

__all__ = ["FOLDER", "programs"]

FOLDER = "/dev/installed"
_NAMES = ("apt", "apt-get", "apk", "curl", "pip", "pip3", "uv", "uvx", "wget")


def programs() -> dict[str, str]:
    """Return the programs' texts by their paths."""
    text = files("gem_sandbox.machines.local").joinpath("installed.sh").read_text("utf-8")
    return {f"{FOLDER}/{name}": text for name in _NAMES}

"""Size of the viewer's page of an episode whose observations have the whole history."""

import tempfile
from pathlib import Path

from gem_eval.view.page import one_file
from gem_eval.view.store import Store
from gem_rollout import TrajectoryFile
from growth.trajectory_disk import played

__all__ = ["SIZES", "TITLE", "UNIT", "measure"]

SIZES = (100, 400, 1_600)
UNIT = "MiB"
TITLE = "size of `gem-core view --html` of an episode of n turns with `concat_with_action`"
_MIB = 2**20


def measure(size: int) -> float:
    """Return the size of the page of an episode of ``size`` turns in MiB."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trajectories.jsonl"
        with TrajectoryFile(path) as file:
            file.append(played(size))
        parts: list[int] = []
        with Store([path]) as store:
            store.refresh()
            one_file(store, 1, lambda part: parts.append(len(part)))
    return sum(parts) / _MIB

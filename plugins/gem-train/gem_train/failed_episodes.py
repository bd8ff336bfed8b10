"""The episodes of a training run that ended in an error."""

from collections.abc import Sequence
from pathlib import Path

from gem_rollout import Trajectory, TrajectoryFile
from gem_rollout.records.failures import Failures

__all__ = ["FailedEpisodes"]


class FailedEpisodes:
    """Writes the failed episodes of the latest step that had some to ``failed.jsonl``.

    Args:
        folder: The run's folder.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "failed.jsonl"
        self._is_reported = False

    def write(self, trajectories: Sequence[Trajectory]) -> Path:
        """Replace the file by the failed ones of these episodes, and return its path."""
        self._path.unlink(missing_ok=True)
        with TrajectoryFile(self._path) as file:
            for one in trajectories:
                if one.error is not None:
                    file.append(one)
        return self._path

    def report(self, trajectories: Sequence[Trajectory]) -> list[str]:
        """Write the failed ones of a step's episodes, if there are some.

        Returns:
            The reasons, in lines, the first time; later failures are only counted in a metric.
        """
        if all(one.error is None for one in trajectories):
            return []
        path = self.write(trajectories)
        if self._is_reported:
            return []
        self._is_reported = True
        failures = Failures()
        for one in trajectories:
            failures.add(one)
        return failures.lines(path)

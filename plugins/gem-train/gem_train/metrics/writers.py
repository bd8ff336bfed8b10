"""Where figures are written: one table of ids, and all writers behind one ``log``.

A writer that fails does not end the training: it is said once, and it is tried again with the next
step. What a full disk kept out of a file is written when there is room again.
"""

import importlib.util
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from gem_core.errors import ConfigError, GemError, UnknownIdError, near_names
from gem_core.specs import load_entry_point

__all__ = ["WRITERS", "Writer", "Writers", "open_writers"]


class _Entry(NamedTuple):
    entry_point: str
    package: str = ""  # which an extra of the same name installs


WRITERS = {
    "csv": _Entry("gem_train.metrics.csv_file:CsvWriter"),
    "tensorboard": _Entry("gem_train.metrics.tensorboard:TensorBoardWriter"),
    "wandb": _Entry("gem_train.metrics.services:WandbWriter", "wandb"),
    "trackio": _Entry("gem_train.metrics.services:TrackioWriter", "trackio"),
}
"""Where each writer is. It is made with ``(folder, run_name, config, resume_step)``."""


class Writer(Protocol):
    """Writes figures somewhere; whatever it raises is shown and does no harm."""

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Write the figures of a step."""

    def close(self) -> None:
        """Write what is left, and let go."""


class Writers:
    """Several writers as one.

    Args:
        writers: The writers by id.
        warn: Is told, once for each writer, what does not work.
    """

    def __init__(self, writers: Mapping[str, Writer], warn: Callable[[str], None]) -> None:
        self._writers = dict(writers)
        self._warn = warn
        self._failed: set[str] = set()
        self._step = -1

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Write the figures of a step.

        Args:
            step: Steps that are done, not fewer than at the last call.
            metrics: Numbers by name, such as ``rollout/success``; numbers of other libraries, a
                tensor with one element for example, are made Python's.

        Raises:
            ConfigError: The step lies before that of the last call.
        """
        if step < self._step:
            raise ConfigError(f"Figures of step {step} came after those of step {self._step}.")
        self._step = step
        plain = {name: _number(value) for name, value in metrics.items()}
        for name, writer in self._writers.items():
            try:
                writer.log(step, plain)
            except Exception as error:  # noqa: BLE001 - figures are not worth a training run
                self._tell(name, error)

    def _tell(self, name: str, error: Exception) -> None:
        if name not in self._failed:
            self._failed.add(name)
            self._warn(_message(name, error))

    def close(self) -> None:
        """Close all of them; a second time does nothing."""
        while self._writers:
            name, writer = self._writers.popitem()
            try:
                writer.close()
            except Exception as error:  # noqa: BLE001 - the others want to be closed
                self._tell(name, error)


def open_writers(
    names: Sequence[str],
    folder: Path,
    *,
    run_name: str,
    config: Mapping[str, Any],
    resume_step: int | None,
    warn: Callable[[str], None] | None = None,
) -> Writers:
    """Open writers.

    Args:
        names: Ids in ``WRITERS``.
        folder: The run's folder, which is made if need be; files are written there.
        run_name: What services call the run.
        config: The run's configuration as plain data, which services keep.
        resume_step: Steps that were done before; what was written of later ones is dropped, as
            they are played again. None to begin anew.
        warn: Is told, once for each writer, what does not work; None for Python's warnings.

    Raises:
        UnknownIdError: There is no writer of a name.
        ConfigError: A name comes twice, or the package that a writer needs is missing.
        DataError: The folder has a ``metrics.csv`` that cannot be continued.
    """
    warn = warn or _python_warning
    for name in names:
        _check(name)
    if len(set(names)) < len(names):
        raise ConfigError(f"Each writer once, please; got {', '.join(names)}.")
    folder.mkdir(parents=True, exist_ok=True)
    writers: dict[str, Writer] = {}
    for name in names:
        try:
            make = load_entry_point(WRITERS[name].entry_point)
            writers[name] = make(folder, run_name, config, resume_step)
        except GemError:
            raise
        except Exception as error:  # noqa: BLE001 - figures are not worth a training run
            warn(f"{_message(name, error)} The run goes on without it.")
    return Writers(writers, warn)


def _check(name: str) -> None:
    if name not in WRITERS:
        raise UnknownIdError(
            f"No writer {name!r}.{near_names(name, WRITERS)} There are: {', '.join(WRITERS)}."
        )
    package = WRITERS[name].package
    if package and importlib.util.find_spec(package) is None:
        raise ConfigError(
            f"The writer {name!r} needs the package {package}: pip install gem-train[{name}]."
        )


def _number(value: Any) -> float:
    return int(value) if isinstance(value, int) else float(value)


def _message(name: str, error: Exception) -> str:
    return f"The writer {name!r} does not work: {type(error).__name__}: {error}."


def _python_warning(message: str) -> None:
    warnings.warn(message, RuntimeWarning, stacklevel=4)

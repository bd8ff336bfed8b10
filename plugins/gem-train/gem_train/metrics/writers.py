"""Writers of metrics: those of the registry, and one ``log`` for all writers of a run.

A writer that fails does not end the training: the failure is reported once, and the writer is tried
again at the next step.
"""

import importlib.util
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from gem_core.errors import ConfigError, GemError, NotInstalledError
from gem_core.extras import install_command
from gem_core.resolve import resolve
from gem_core.specs import Spec
from gem_rollout.records.redaction import redact
from gem_train.parts import make_part
from gem_train.specs import WRITERS

__all__ = ["Writer", "Writers", "open_writers"]


class Writer(Protocol):
    """Writes metrics somewhere; an exception is reported and does not end the run."""

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Write the metrics of a step."""

    def close(self) -> None:
        """Write pending metrics and release resources."""


class Writers:
    """Several writers behind one interface.

    Args:
        writers: The writers by id.
        warn: Called with a message at the first failure of each writer.
    """

    def __init__(self, writers: Mapping[str, Writer], warn: Callable[[str], None]) -> None:
        self._writers = dict(writers)
        self._warn = warn
        self._failed: set[str] = set()
        self._step = -1

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Write the metrics of a step.

        Args:
            step: Number of finished steps, at least that of the last call.
            metrics: Numbers by name, such as ``rollout/success``. Numbers of other libraries, such
                as a tensor with one element, are converted to Python's.

        Raises:
            ConfigError: The step is lower than that of the last call.
        """
        if step < self._step:
            raise ConfigError(
                f"Metrics must be logged in order: step {step} came after step {self._step}."
            )
        self._step = step
        plain = {name: _number(value) for name, value in metrics.items()}
        for name, writer in self._writers.items():
            try:
                writer.log(step, plain)
            except Exception as error:  # noqa: BLE001 - a failed writer must not end the training
                self._report(name, error)

    def _report(self, name: str, error: Exception) -> None:
        if name not in self._failed:
            self._failed.add(name)
            self._warn(_message(name, error))

    def close(self) -> None:
        """Close all writers; may be called twice."""
        while self._writers:
            name, writer = self._writers.popitem()
            try:
                writer.close()
            except Exception as error:  # noqa: BLE001 - the others must still be closed
                self._report(name, error)


def open_writers(
    names: Sequence[str | Mapping[str, Any]],
    folder: Path,
    *,
    run_name: str,
    config: Mapping[str, Any],
    resume_step: int | None,
    warn: Callable[[str], None] | None = None,
) -> Writers:
    """Open writers.

    Args:
        names: Ids of writers, ``module:NAME``, or mappings with such an ``id`` and parameters.
        folder: The run's folder, which is created if necessary.
        run_name: The name of the run in services.
        config: The run's configuration as plain data, for services; they get it without secrets.
        resume_step: The last step to keep; metrics of later steps are dropped, because a resumed
            run repeats these steps. None for a new run.
        warn: Called with a message at the first failure of each writer; None for Python warnings.

    Raises:
        UnknownIdError: No writer has this name.
        UnknownKwargError: A writer does not take a parameter.
        ConfigError: A name occurs twice, or a package that a writer needs is not installed.
        DataError: The folder has a ``metrics.csv`` that cannot be continued.
    """
    warn = warn or _python_warning
    specs = {spec.id: spec for spec in (resolve(WRITERS, name) for name in names)}
    if len(specs) < len(names):
        raise ConfigError(f"Each writer may be named once; got {', '.join(map(str, names))}.")
    for spec in specs.values():
        _check_package(spec)
    folder.mkdir(parents=True, exist_ok=True)
    writers: dict[str, Writer] = {}
    given = (folder, run_name, redact(config), resume_step)
    for name, spec in specs.items():
        try:
            writers[name] = make_part(WRITERS, spec, *given)
        except GemError:
            raise
        except Exception as error:  # noqa: BLE001 - a failed writer must not end the training
            warn(f"{_message(name, error)} The run continues without it.")
    return Writers(writers, warn)


def _check_package(spec: Spec) -> None:
    package = spec.metadata.get("needs")
    if package and importlib.util.find_spec(package) is None:
        module = spec.entry_point if isinstance(spec.entry_point, str) else ""
        command = install_command(package, module) or f"pip install {package}"
        raise NotInstalledError(f"The writer {spec.id!r} needs {package}. Run: {command}")


def _number(value: Any) -> float:
    return int(value) if isinstance(value, int) else float(value)


def _message(name: str, error: Exception) -> str:
    return f"The writer {name!r} failed: {type(error).__name__}: {error}."


def _python_warning(message: str) -> None:
    warnings.warn(message, RuntimeWarning, stacklevel=4)

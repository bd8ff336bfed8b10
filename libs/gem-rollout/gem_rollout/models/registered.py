"""Models with an id: fetched once by ``gem-core get-model``, and used by their id ever after."""

import contextlib
import fcntl
from collections.abc import Callable, Iterator
from pathlib import Path

from gem_core.caches import cache_folder
from gem_core.errors import ConfigError, UnknownIdError
from gem_core.plugins import default_registry
from gem_core.specs import Kind, Spec

__all__ = ["MODELS", "ReportProgress", "fetch_model", "find_model", "model_folder"]

ReportProgress = Callable[[str, int, int], None]
"""Is called with what is being done, how much of it is done, and how much there is."""

MODELS: Kind[Spec] = Kind(
    id="models", name="model", description="models that get-model fetches", given=2
)
"""Entry points write a model of transformers.

They take the folder to write, in which the files of an interrupted call may still be, and a
``ReportProgress``. They leave nothing else in it. ``metadata`` has the model's ``license``, the
``size`` of the download in words, and the ``version`` of what is written: another version is
fetched again.
"""


def find_model(name: str) -> Spec | None:
    """Return the spec of a model; None if no model has this id."""
    try:
        return default_registry().find(MODELS, name)
    except UnknownIdError:
        return None


def model_folder(spec: Spec) -> Path:
    """Return where a model is, or will be when it is fetched."""
    name = f"{spec.id.replace('/', '--').replace(':', '--')}-{spec.metadata.get('version', '1')}"
    return cache_folder("models") / name


def fetch_model(spec: Spec, report: ReportProgress) -> Path:
    """Return the folder of a model, which is fetched if it is not there.

    If another process is fetching it, this one waits for that.

    Args:
        spec: Its spec.
        report: Is called as it is fetched.

    Raises:
        ConfigError: It cannot be had or written.
    """
    folder = model_folder(spec)
    if folder.is_dir():  # perhaps in a cache that cannot be written
        return folder
    part = folder.with_name(f".{folder.name}.part")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _locked(folder.with_name(f".{folder.name}.lock")):
            if not folder.is_dir():
                part.mkdir(exist_ok=True)
                spec.make(part, report)
                part.rename(folder)
    except OSError as error:
        reason = error.strerror or error
        raise ConfigError(f"{spec.id!r} cannot be written to {folder}: {reason}.") from error
    return folder


@contextlib.contextmanager
def _locked(file: Path) -> Iterator[None]:
    with file.open("w") as opened:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield

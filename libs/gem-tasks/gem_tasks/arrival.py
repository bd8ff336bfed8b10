"""Waiting for a download, for as long as it makes progress."""

import contextvars
import os
import queue
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from gem_tasks.hub import endpoint, import_datasets, parts_of_name
from gem_tasks.hub_facts import UnreachableError

__all__ = ["arrived"]

Result = TypeVar("Result")
_OFTEN = 0.5
"""Seconds between two looks at the progress."""


def arrived(
    load: Callable[[], Result], name: str, *, timeout: float, progress: Callable[[], int]
) -> Result:
    """Return the result of ``load``, which runs in a thread that an interrupt leaves behind.

    Args:
        load: Downloads and reads a dataset.
        name: The name of the dataset.
        timeout: The longest time without progress, in seconds. Bytes that arrive in the cache are
            progress.
        progress: Returns a number that changes with other progress.

    Raises:
        UnreachableError: There was no progress.
    """
    results: queue.SimpleQueue[tuple[bool, Any]] = queue.SimpleQueue()

    def run() -> None:
        try:
            results.put((True, load()))
        except BaseException as error:  # noqa: BLE001 - raised where it is awaited
            results.put((False, error))

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(run,), daemon=True, name="gem-data").start()
    folders, waited, last = _cache_of(name), 0.0, (0, 0)
    while waited < timeout:
        try:
            is_result, found = results.get(timeout=_OFTEN)
        except queue.Empty:
            now = (sum(map(_size, folders)), progress())
            waited, last = (waited + _OFTEN if now == last else 0.0), now
            continue
        if is_result:
            return found  # type: ignore[no-any-return]
        raise found
    raise UnreachableError(
        f"{parts_of_name(name)[0]}: nothing arrived from {endpoint()} for {timeout:g} s. Try "
        f"again, or with a longer --timeout; what has arrived is kept.",
        "no answer",
    )


def _cache_of(name: str) -> list[Path]:
    """Return the folders that grow while a dataset is downloaded."""
    datasets = import_datasets()
    from huggingface_hub import constants  # noqa: PLC0415 - it is imported with ``datasets``

    repository = parts_of_name(name)[0]
    return [
        Path(constants.HF_HUB_CACHE) / f"datasets--{repository.replace('/', '--')}",
        Path(datasets.config.HF_DATASETS_CACHE) / repository.replace("/", "___"),
    ]


def _size(folder: Path) -> int:
    """Return the size of the files in a folder in bytes, as far as they can be read."""
    total = 0
    for path, _, files in os.walk(folder):
        for name in files:
            try:
                total += (Path(path) / name).lstat().st_size
            except OSError:  # it has just been moved
                continue
    return total

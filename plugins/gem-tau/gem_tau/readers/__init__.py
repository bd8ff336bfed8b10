"""Readers of others' task folders: tau-bench 1 and tau2-bench.

tau-bench 1 is recognised by its modules ``tasks_*.py``, and tau2-bench (which its authors also call
tau3) by ``tasks.json``. ``data`` is a checkout, or the folder of the domain in it. Nothing in a
folder is executed, and a field that is not understood raises a ``DataError``.
"""

from pathlib import Path

from gem_core.errors import ConfigError, DataError
from gem_tau.readers import tau1, tau2
from gem_tau.readers.businesses import AIRLINE, MOCK, RETAIL, TELECOM, Business
from gem_tau.sources import ListedTasks
from gem_tau.task import DialogueTask

__all__ = ["airline", "mock", "retail", "telecom"]

_PLACES = ("", "data/tau2/domains/{}", "tau_bench/envs/{}", "domains/{}", "envs/{}", "{}")


def retail(data: str | Path | None = None, split: str | None = None) -> ListedTasks[DialogueTask]:
    """Return the tasks of a shop in a folder.

    Args:
        data: A checkout of tau-bench or tau2-bench, or its folder of the domain.
        split: ``test`` (the default), ``train`` or ``dev`` of tau-bench 1; ``base`` (the default),
            ``train`` or ``test`` of tau2-bench.

    Raises:
        ConfigError: There is no ``data`` or no such split.
        DataError: The folder cannot be read, or a task cannot be played here.
    """
    return _read(RETAIL, data, split)


def airline(data: str | Path | None = None, split: str | None = None) -> ListedTasks[DialogueTask]:
    """Return the tasks of an airline in a folder.

    Args:
        data: A checkout of tau-bench or tau2-bench, or its folder of the domain.
        split: See ``retail``.

    Raises:
        ConfigError: There is no ``data`` or no such split.
        DataError: The folder cannot be read, or a task cannot be played here.
    """
    return _read(AIRLINE, data, split)


def telecom(data: str | Path | None = None, split: str | None = None) -> ListedTasks[DialogueTask]:
    """Return the tasks of a mobile operator in a folder.

    Args:
        data: A checkout of tau2-bench, or its folder of the domain.
        split: ``base`` (the default), ``train``, ``test``, ``small`` or ``full``.

    Raises:
        ConfigError: There is no ``data`` or no such split.
        DataError: The folder cannot be read, or a task cannot be played here.
    """
    return _read(TELECOM, data, split)


def mock(data: str | Path | None = None, split: str | None = None) -> ListedTasks[DialogueTask]:
    """Return the tasks in which tau2-bench tests itself.

    Args:
        data: A checkout of tau2-bench, or its folder of the domain.
        split: ``base`` (the default).

    Raises:
        ConfigError: There is no ``data`` or no such split.
        DataError: The folder cannot be read, or a task cannot be played here.
    """
    return _read(MOCK, data, split)


def _read(
    business: Business, data: str | Path | None, split: str | None
) -> ListedTasks[DialogueTask]:
    if data is None:
        raise ConfigError(
            f"The tasks of {business.name} need data=, a checkout: "
            f"git clone https://github.com/sierra-research/tau2-bench (or .../tau-bench)."
        )
    path = Path(data)
    if not path.is_dir():
        kind = "is not a folder" if path.exists() else "does not exist"
        raise DataError(f"{path} {kind}; data= is a checkout of tau-bench or tau2-bench.")
    for place in _PLACES:
        folder = path / place.format(business.name)
        for reader in (tau2, tau1) if business.tools_v1 else (tau2,):
            if reader.is_folder(folder):
                return ListedTasks(reader.read(folder, business, split))
    raise DataError(
        f"{path} has no tasks of {business.name}: neither tasks.json (tau2-bench) nor "
        f"tasks_test.py (tau-bench) is in it, in data/tau2/domains/{business.name} or in "
        f"tau_bench/envs/{business.name}."
    )

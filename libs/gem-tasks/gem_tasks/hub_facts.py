"""What the hub says of a dataset before it is downloaded: the commit, and the size of its files."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gem_core.errors import HubError
from gem_tasks.hub import endpoint, import_datasets, parts_of_name, why_offline
from gem_tasks.resolved_files import ENDINGS, ending

__all__ = ["Cause", "HubFacts", "UnreachableError", "ask_hub"]

Cause = Literal[
    "no network", "not found", "gated", "server error", "no answer", "download", "missing"
]
"""Why the rows of a dataset did not arrive. ``no network``: the hub cannot be reached.
``not found``: it does not have the dataset, or the dataset is private. ``gated``: access must be
requested. ``server error``: it failed. ``no answer``: it did not answer in time. ``download``: a
download failed. ``missing``: the folder of downloaded files lacks them."""


class UnreachableError(HubError):
    """A dataset did not arrive from the hub, or is not in the folder of downloaded files.

    Args:
        message: What happened, and what to do.
        cause: The reason.
    """

    def __init__(self, message: str, cause: Cause = "download") -> None:
        super().__init__(message)
        self.cause = cause


@dataclass(frozen=True)
class HubFacts:
    """A dataset on the hub.

    Args:
        commit: The commit of the revision, 40 hexadecimal digits.
        files: The number of its files of rows.
        size: The size of these files in bytes; None if the hub does not say it.
    """

    commit: str
    files: int
    size: int | None


def ask_hub(name: str, *, timeout: float) -> HubFacts:
    """Return what the hub says of a dataset.

    Args:
        name: ``org/name`` or ``org/name:config``; ``@revision`` may follow either.
        timeout: The longest time without a word from the hub, in seconds.

    Raises:
        DataError: The name is malformed.
        NotInstalledError: ``datasets`` is not installed.
        UnreachableError: The hub is unreachable, fails, or does not provide the dataset.
    """
    repository, _, revision = parts_of_name(name)
    if why := why_offline():
        raise UnreachableError(
            f"the hub is unreachable ({why}). Set HF_ENDPOINT for a mirror or "
            f"HTTPS_PROXY for a proxy, or name downloaded files with --folder.",
            "no network",
        )
    import_datasets()
    import huggingface_hub  # noqa: PLC0415 - it is imported with ``datasets``

    try:
        found = huggingface_hub.HfApi().dataset_info(
            repository, revision=revision, files_metadata=True, timeout=timeout
        )
    except Exception as error:
        raise _unreachable(repository, revision, error, timeout) from error
    rows = [one for one in found.siblings or () if ending(Path(one.rfilename)) in ENDINGS]
    sizes = [one.size for one in rows]
    size = None if None in sizes else sum(sizes)
    return HubFacts(str(found.sha or ""), len(rows), size)


def _unreachable(
    repository: str, revision: str | None, error: Exception, timeout: float
) -> UnreachableError:
    """Return the reason why the hub said nothing of a dataset, and what to do."""
    from huggingface_hub import errors  # noqa: PLC0415

    hub, status = endpoint(), _status_of(error)
    page = f"{hub}/datasets/{repository}"
    if isinstance(error, errors.GatedRepoError) or status == 403:
        return UnreachableError(
            f"{repository}: gated. Request access at {page}, then log in with `hf auth login` or "
            f"set HF_TOKEN.",
            "gated",
        )
    if isinstance(error, errors.RevisionNotFoundError):
        return UnreachableError(
            f"{repository} has no revision {revision!r} at {page}. Name another with revision=.",
            "not found",
        )
    if isinstance(error, errors.RepositoryNotFoundError) or status in (401, 404):
        return UnreachableError(
            f"{hub} has no dataset {repository}, or it is private. If it is, log in "
            f"with `hf auth login` or set HF_TOKEN.",
            "not found",
        )
    if status is not None:
        return UnreachableError(
            f"{repository}: {hub} answers with status {status}. Try again later, set HF_ENDPOINT "
            f"for a mirror, or name downloaded files with --folder.",
            "server error",
        )
    is_late = "Timeout" in type(error).__name__
    why = f"no answer within {timeout:g} s" if is_late else f"{type(error).__name__}: {error}"
    return UnreachableError(
        f"{repository}: {hub}: {why}. Try again, or with a longer --timeout, set HF_ENDPOINT for a "
        f"mirror, or name downloaded files with --folder.",
        "no answer" if is_late else "server error",
    )


def _status_of(error: Exception) -> int | None:
    """Return the status of the response that an error is about."""
    status: Any = getattr(getattr(error, "response", None), "status_code", None)
    return status if isinstance(status, int) else None

"""Datasets on the hub, or in its local cache when the hub is unreachable.

``datasets`` does the work, except that JSON and CSV files are read as written, see
``gem_tasks.resolved_files``. A connection is tried first: without a network, ``datasets`` would
retry for a minute, and even importing it takes longer than finding out that there is no network.
"""

import os
import queue
import re
import socket
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from gem_core.errors import DataError, HubError
from gem_core.extras import require
from gem_core.lifetimes import Lock
from gem_tasks.file_rows import FORMATS
from gem_tasks.resolved_files import TextFiles, download, recall, remember

__all__ = [
    "endpoint",
    "import_datasets",
    "load_from_hub",
    "may_be_cached",
    "parts_of_name",
    "why_offline",
]

"""The first release of ``datasets`` that can load from the hub even if a folder has that name."""

_NAME = re.compile(r"((?:\w[\w.-]*/)?\w[\w.-]*)(?::([\w.-]+))?(?:@([\w./-]+))?")
_OFFLINE = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE")
_PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}
_lock = Lock()
_importing = Lock()
# A fork waits until another thread has imported ``datasets``, which it could not import itself.
os.register_at_fork(
    before=_importing.acquire, after_in_parent=_importing.release, after_in_child=_importing.release
)
_of_repositories: weakref.WeakValueDictionary[str, Lock] = weakref.WeakValueDictionary()
"""Held while a repository is loaded, so that its files are downloaded once."""
_online: list[bool] = []
"""What ``datasets`` was set to before each load from the cache that runs now."""


def import_datasets() -> Any:
    """Import ``datasets``.

    Raises:
        NotInstalledError: It is not installed, or it is too old.
    """
    require("gem-tasks[datasets]", "Reading a dataset")
    with _importing:
        import datasets  # noqa: PLC0415 - it takes seconds, and only some tasks need it

    return datasets


def parts_of_name(name: str) -> tuple[str, str | None, str | None]:
    """Return the repository, the config and the revision of ``org/name:config@revision``.

    Raises:
        DataError: The name is malformed.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise DataError(
            f"A dataset on the hub is named 'org/name', 'org/name:config' or 'org/name@revision'; "
            f"got {name!r}. For local files, use data=."
        )
    repository, config, revision = match.groups()
    return repository, config, revision


def load_from_hub(name: str, *, streaming: bool) -> Any:
    """Return a dataset from the hub or its cache.

    A local folder of the same name is never read instead.

    Args:
        name: ``org/name`` or ``org/name:config``; ``@revision`` may follow either.
        streaming: Read rows as they are needed instead of downloading the dataset.

    Returns:
        ``TextFiles`` of a dataset in JSON or CSV files, or else a ``DatasetDict`` (an
        ``IterableDatasetDict`` if streaming).

    Raises:
        HubError: The hub is unreachable and the dataset is not in the cache; there is no such
            dataset; access to it is restricted; or the download failed.
        DataError: The name is malformed, or the dataset cannot be read.
    """
    repository, config, revision = parts_of_name(name)
    offline = why_offline()
    if offline and (revision or not may_be_cached(repository)):
        raise _offline_error(name, offline)
    datasets = import_datasets()
    with _lock:
        of_repository = _of_repositories.setdefault(repository, Lock())
    with of_repository, _cache_only(datasets) if offline else nullcontext():
        try:
            if offline:
                return _from_cache(datasets, name, repository, config, streaming=streaming)
            return _from_hub(datasets, repository, config, revision, streaming=streaming)
        except Exception as error:
            if offline:
                raise _offline_error(name, offline, error) from error
            raise _hub_error(name, repository, error) from error


def _from_hub(
    datasets: Any, repository: str, config: str | None, revision: str | None, *, streaming: bool
) -> Any:
    try:
        builder = datasets.load_dataset_builder(
            f"hf://datasets/{repository}", config, revision=revision
        )
    except Exception:  # ``datasets`` has looked into its cache, which does not have these files
        known = None if revision else recall(datasets, repository, config)
        if known is None:
            raise
        return known
    found = TextFiles.of_builder(datasets, builder)
    if found is None:
        return _loaded(builder, streaming=streaming)
    if not streaming:
        found = download(datasets, builder, found.kind, repository)
        if revision is None:
            remember(datasets, found, repository, config)
    return found


def _from_cache(
    datasets: Any, name: str, repository: str, config: str | None, *, streaming: bool
) -> Any:
    found = recall(datasets, repository, config)
    if found is not None:
        return found
    builder = datasets.load_dataset_builder(f"hf://datasets/{repository}", config)
    kind = builder.info.builder_name
    if kind in FORMATS:
        warnings.warn(
            f"{name!r} is in the cache as 'datasets' has converted it from {kind}: integers may "
            f"be fractions, and texts numbers. Load it once with a network.",
            stacklevel=2,
        )
    return _loaded(builder, streaming=streaming)


def _loaded(builder: Any, *, streaming: bool) -> Any:
    """Load a dataset as ``datasets.load_dataset`` does; its ``info`` names the files."""
    if streaming:
        names = [str(one) for split in (builder.config.data_files or {}).values() for one in split]
        builder.info.download_checksums = dict.fromkeys(names)  # as a download would
        return builder.as_streaming_dataset()
    builder.download_and_prepare()
    return builder.as_dataset(in_memory=False)


@contextmanager
def _cache_only(datasets: Any) -> Iterator[None]:
    """Let ``datasets`` read its cache only, in this and all other threads.

    A dataset that another thread is about to load may then come from the cache too: the hub was
    unreachable a moment ago.
    """
    with _lock:
        _online.append(datasets.config.HF_HUB_OFFLINE)
        datasets.config.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        with _lock:
            if _online:  # empty in a fork that was made here
                datasets.config.HF_HUB_OFFLINE = _online.pop()


def _forget() -> None:
    """Undo in a fork the settings of the parent's loads."""
    if _online:
        sys.modules["datasets"].config.HF_HUB_OFFLINE = _online[0]
        _online.clear()


os.register_at_fork(after_in_child=_forget)


def _hub_error(name: str, repository: str, error: Exception) -> Exception:
    hub, kind, text = endpoint(), type(error).__name__, _text(error)
    if "gated" in text:
        return HubError(
            f"Dataset {name!r} is gated. Request access at {hub}/datasets/{repository}, then log "
            f"in with `hf auth login` or set HF_TOKEN."
        )
    if kind == "DatasetNotFoundError":
        return HubError(f"{text} (hub: {hub}).{_hint(repository)}")
    if isinstance(error, ValueError):
        hint = " Choose one with 'org/name:config'." if "config" in text else ""
        return DataError(f"Dataset {name!r} on the hub cannot be read: {text}{hint}")
    return HubError(
        f"Dataset {name!r} could not be downloaded from {hub}; the cache is unchanged. "
        f"{kind}: {text}"
    )


def _text(error: Exception) -> str:
    return " ".join(str(error).partition("Example of usage")[0].split())


def _hint(repository: str) -> str:
    folder = Path(repository)
    if folder.is_dir():
        return f" To read the local folder of that name, pass data={str(folder.resolve())!r}."
    return " If it is private, log in with `hf auth login` or set HF_TOKEN."


def _offline_error(name: str, why: str, error: Exception | None = None) -> HubError:
    note = " by revision (omit '@...' to use the cached version)" if "@" in name else ""
    if isinstance(error, ValueError):
        note = f" under this name ({_text(error)})"
    return HubError(
        f"Dataset {name!r} is not in the cache{note}, and the hub is unreachable: {why}. "
        f"Without a network, use an id that ends in ':Sample', give local files with data= to one "
        f"that ends in ':Custom', or set HF_HOME to a cache that contains the dataset. With a "
        f"network, set HF_ENDPOINT for another hub, HTTPS_PROXY for a proxy, or "
        f"HF_HUB_ETAG_TIMEOUT=10 if it is slow."
    )


def endpoint() -> str:
    """Return the address of the hub, without a slash at its end."""
    return os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")


def why_offline() -> str:
    """Return the reason why the hub is unreachable, or an empty string if it answers."""
    for name in _OFFLINE:
        if os.environ.get(name, "").upper() in {"1", "ON", "YES", "TRUE"}:
            return f"{name} is set"
    timeout = float(os.environ.get("HF_HUB_ETAG_TIMEOUT", "1.5"))
    host, port = _first_hop(endpoint())
    answers: queue.SimpleQueue[str] = queue.SimpleQueue()
    _daemon(_try_to_connect, host, port, timeout, answers).start()
    try:
        why = answers.get(timeout=timeout)
    except queue.Empty:
        why = f"no answer within {timeout:g} s"
    return why and f"{host}:{port}: {why}"


def _first_hop(url: str) -> tuple[str, int]:
    """Return the host and port that a request for ``url`` connects to: the proxy if one is set."""
    parts = urlsplit(url)
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if proxy and not proxy_bypass(parts.netloc):
        parts = urlsplit(proxy if "//" in proxy else f"//{proxy}")
    return parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 80)


def _try_to_connect(
    host: str, port: int, timeout: float, answers: "queue.SimpleQueue[str]"
) -> None:
    """Put an empty string into ``answers`` when an address accepts, or the reason why none does.

    All addresses are tried at the same time, because a dead IPv6 route would use up the time of a
    working IPv4 one. This runs in a daemon thread, because a name lookup has no timeout.
    """
    errors: list[str] = []

    def connect(address: tuple[Any, ...]) -> None:
        try:
            socket.create_connection(address[:2], timeout).close()
        except OSError as error:
            errors.append(error.strerror or str(error))
        else:
            answers.put("")

    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        return answers.put(error.strerror or str(error))
    threads = [_daemon(connect, address) for *_, address in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers.put(", ".join(errors))


def _daemon(target: Callable[..., None], *arguments: Any) -> threading.Thread:
    return threading.Thread(target=target, args=arguments, daemon=True, name="gem-hub-probe")


def may_be_cached(repository: str) -> bool:
    """Return whether the cache may contain a dataset, without importing ``datasets``."""
    if "datasets" in sys.modules:
        return True
    environ = os.environ
    home = environ.get("XDG_CACHE_HOME", "~/.cache") + "/huggingface"
    cache = environ.get("HF_DATASETS_CACHE", environ.get("HF_HOME", home) + "/datasets")
    wanted = _letters(repository.rpartition("/")[2])
    folder = Path(os.path.expandvars(cache)).expanduser()
    return folder.is_dir() and any(wanted in _letters(entry.name) for entry in folder.iterdir())


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())

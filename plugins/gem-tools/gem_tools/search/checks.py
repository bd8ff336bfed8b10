"""The contract of search backends."""

import asyncio
from collections.abc import Sequence

from gem_core.resolve import resolve
from gem_core.testing.report import Report, require, run_checks
from gem_tools.search.backend import Document, SearchBackend, make_backend
from gem_tools.specs import SEARCH_BACKENDS

__all__ = ["check_search_backend"]

_QUERY, _TOPK, _SECONDS = "water", 2, 10.0


def check_search_backend(name: str) -> Report:
    """Check what a backend returns for a query, with and without an event loop.

    One that needs something, such as a key of a service, is not tried.
    """
    report = Report(name)
    if needs := resolve(SEARCH_BACKENDS, name).metadata.get("needs"):
        report.unchecked.append(f"its searches, as they need {needs}")
        return report
    return run_checks(report, {"search": _check_search}, lambda: make_backend(name))


def _check_search(backend: SearchBackend) -> None:
    require(isinstance(backend.waits, bool), f"waits must be a bool; got {backend.waits!r}")
    found = backend.search(_QUERY, topk=_TOPK, seconds=_SECONDS)
    _check_documents(found)
    again = asyncio.run(backend.asearch(_QUERY, topk=_TOPK, seconds=_SECONDS))
    require(list(again) == list(found), "asearch must find what search finds")


def _check_documents(found: Sequence[Document]) -> None:
    require(len(found) <= _TOPK, f"a search must return at most topk={_TOPK} documents")
    for one in found:
        require(isinstance(one, Document), f"a search must return Documents; got {one!r:.80}")
    scores = [one.score for one in found if one.score is not None]
    require(scores == sorted(scores, reverse=True), "the best document must come first")

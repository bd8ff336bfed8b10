"""The format of queries and results, as msgpack and as JSON.

A request is a map with ``query``, ``topk`` and ``return_scores``. A result is a map ``{"result":
[{"document": {"contents": ...}, "score": ...}, ...]}``. Common JSON servers take a list of
``queries`` instead and answer with a list of such lists. So a JSON request has both keys, and both
kinds of answers are read.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgpack

from gem_core.errors import DataError
from gem_core.records import json_value
from gem_tools.search.backend import Document, SearchError

__all__ = [
    "MEDIA_TYPES",
    "Request",
    "Wire",
    "encode",
    "encode_query",
    "read_documents",
    "read_request",
]

Wire = Literal["msgpack", "json"]
MEDIA_TYPES: dict[Wire, str] = {"msgpack": "application/msgpack", "json": "application/json"}

MOST_QUERIES = 1024
"""Maximum number of queries in a request."""
LONGEST_QUERY = 32_768
"""Maximum number of characters of a query."""
_UNREADABLE = (
    *(ValueError, LookupError, TypeError, OverflowError),
    RecursionError,  # brackets in thousands of others
    msgpack.exceptions.UnpackException,
)


def encode(value: Any, wire: Wire) -> bytes:
    """Return a value encoded in a format."""
    if wire == "json":
        return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    packed: bytes = msgpack.packb(value, unicode_errors="replace")
    return packed


def encode_query(query: str, topk: int, wire: Wire) -> bytes:
    """Return the request for one query."""
    request: dict[str, Any] = {"query": query, "topk": topk, "return_scores": True}
    if wire == "json":
        request["queries"] = [query]
    return encode(request, wire)


def read_documents(body: bytes) -> list[Document]:
    """Return the documents of an answer to one query, in either format.

    Raises:
        SearchError: The answer has another form.
    """
    try:
        result = _decode(body, _wire_of(body))["result"]
        if result and isinstance(result[0], list):
            result = result[0]
        return [_document(entry) for entry in result]
    except _UNREADABLE as error:
        shown = body[:80].decode("utf-8", "backslashreplace")
        raise SearchError(f"the answer is not a result of a search: {shown!r}.") from error


@dataclass(frozen=True)
class Request:
    """A request to a server.

    Args:
        queries: The queries.
        topk: Number of documents for each query; None for the server's default.
        return_scores: Whether the answer has scores.
        is_batch: Whether the answer has a list for each query.
        wire: Format of the request and the answer.
    """

    queries: Sequence[str]
    topk: int | None
    return_scores: bool
    is_batch: bool
    wire: Wire

    def answer(self, found: Sequence[Sequence[tuple[Mapping[str, Any], float]]]) -> bytes:
        """Return the body of the answer, from documents and scores for each query."""
        results = [
            [
                {"document": dict(document), "score": score if self.return_scores else None}
                for document, score in of_query
            ]
            for of_query in found
        ]
        return encode({"result": results if self.is_batch else results[0]}, self.wire)


def read_request(body: bytes, content_type: str, *, most: int) -> Request:
    """Return the request in a body.

    Args:
        body: The body of a request, in either format.
        content_type: Content type of the request; if it is another, the body decides.
        most: Maximum number of documents.

    Raises:
        DataError: The request is invalid; the message says why.
    """
    named = [wire for wire, name in MEDIA_TYPES.items() if name == content_type]
    wire = named[0] if named else _wire_of(body)
    try:
        asked = _decode(body, wire)
    except _UNREADABLE as error:
        raise DataError(f"This is not {wire}: {error}") from error
    if not isinstance(asked, dict):
        raise DataError('A request is a map, for example {"query": "tallest tree", "topk": 3}.')
    topk, scores = asked.get("topk"), asked.get("return_scores")
    if topk is not None and (type(topk) is not int or not 1 <= topk <= most):
        raise DataError(f"topk must be a whole number from 1 to {most}; got {topk!r}.")
    if not isinstance(scores, bool | None):
        raise DataError(f"return_scores must be true or false; got {scores!r}.")
    is_batch = "query" not in asked
    queries = _queries(asked.get("queries") if is_batch else [asked["query"]])
    return Request(queries, topk, scores is not False, is_batch, wire)


def _queries(queries: Any) -> list[str]:
    if not isinstance(queries, list) or not all(isinstance(query, str) for query in queries):
        raise DataError("A request has a query, a text, or queries, a list of texts.")
    if len(queries) > MOST_QUERIES:
        raise DataError(f"At most {MOST_QUERIES} queries in one request; got {len(queries)}.")
    if any(len(query) > LONGEST_QUERY for query in queries):
        raise DataError(f"A query has at most {LONGEST_QUERY:,} characters.")
    # JSON may contain half a surrogate pair, which cannot be encoded.
    return [query.encode("utf-8", "replace").decode() for query in queries]


def _wire_of(body: bytes) -> Wire:
    """Detect the format: a msgpack map never begins like a JSON object."""
    return "json" if body.lstrip()[:1] in {b"{", b"["} else "msgpack"


def _decode(body: bytes, wire: Wire) -> Any:
    return json_value(body) if wire == "json" else msgpack.unpackb(body)


def _document(entry: Any) -> Document:
    if not isinstance(entry, dict):
        raise TypeError("a hit is a map")
    document = entry.get("document", entry)  # without scores, some servers leave out the level
    contents, score = document["contents"], entry.get("score")
    if not isinstance(contents, str):
        raise TypeError("contents are text")
    return Document(contents, None if score is None else float(score))

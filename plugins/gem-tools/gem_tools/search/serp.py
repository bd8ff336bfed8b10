"""Searches the web with SerpApi or a compatible service."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gem_core.errors import ConfigError
from gem_core.records import json_value
from gem_core.secret import Secret
from gem_tools.search.backend import Document, SearchError
from gem_tools.search.remote import Answer, RemoteBackend

__all__ = ["SerpBackend", "as_json"]

NO_TITLE = "No title."
NO_SNIPPET = "No snippet available."


class SerpBackend(RemoteBackend):
    """Asks SerpApi: first the answer box, then the results, then related questions.

    Args:
        url: URL of the service.
        api_key: The key; None for ``$SERP_API_KEY``.
        engine: The search engine that SerpApi asks.
        concurrency: See ``RemoteBackend``.
        retries: See ``RemoteBackend``.
        cache_size: See ``RemoteBackend``.

    Raises:
        ConfigError: An option is out of range, or the key is missing.
    """

    def __init__(
        self,
        *,
        url: str = "https://serpapi.com/search",
        api_key: Secret | None = None,
        engine: str = "google",
        concurrency: int = 8,
        retries: int = 2,
        cache_size: int = 4096,
    ) -> None:
        super().__init__(concurrency=concurrency, retries=retries, cache_size=cache_size)
        self.url = url
        self.engine = engine
        self._key = api_key or os.environ.get("SERP_API_KEY")
        if not self._key:
            raise ConfigError("The backend 'serp' needs an api_key, or $SERP_API_KEY.")

    async def fetch(self, query: str, topk: int) -> Sequence[Document]:
        params = {"engine": self.engine, "q": query, "api_key": self._key}
        found = as_json(await self.request("GET", self.url, params=params))
        return list(_documents(found))[:topk]


def as_json(answer: Answer) -> dict[str, Any]:
    """Return the JSON object in an answer.

    Raises:
        SearchError: The answer is not a JSON object.
    """
    try:
        value = json_value(answer.body)
    except ValueError as error:
        raise SearchError("the answer of the service is not JSON.") from error
    if not isinstance(value, dict):
        raise SearchError("the answer of the service is not a JSON object.")
    return value


def _documents(found: Mapping[str, Any]) -> Iterator[Document]:
    box = found.get("answer_box")
    if isinstance(box, dict):
        yield _document(box.get("title"), box.get("answer"), box.get("snippet"))
    for result in _objects(found.get("organic_results")):
        yield _document(result.get("title"), result.get("snippet"))
    for question in _objects(found.get("related_questions")):
        yield _document(question.get("question"), question.get("snippet"))


def _objects(values: Any) -> Iterable[Mapping[str, Any]]:
    return (
        [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []
    )


def _document(title: Any, *texts: Any) -> Document:
    text = " ".join(text for text in texts if isinstance(text, str) and text)
    title = title if isinstance(title, str) and title else NO_TITLE
    return Document(f'"{title}"\n{text or NO_SNIPPET}')

"""Searches with a retrieval server: ``gem-core serve-search`` or a compatible one."""

from collections.abc import Mapping, Sequence
from typing import Literal

from gem_core.errors import ConfigError
from gem_tools.search.backend import Document
from gem_tools.search.remote import RefusedError, RemoteBackend
from gem_tools.search.wire import MEDIA_TYPES, Wire, encode_query, read_documents

__all__ = ["HttpBackend"]

_NOT_UNDERSTOOD = frozenset({400, 415, 422})


class HttpBackend(RemoteBackend):
    """Asks a retrieval server.

    Args:
        url: URL, for example ``http://localhost:8000/retrieve``.
        wire: ``msgpack``, ``json``, or ``auto``: msgpack, or JSON if the server refuses msgpack.
        headers: Further headers of each request, for example for authentication.
        concurrency: See ``RemoteBackend``.
        retries: See ``RemoteBackend``.
        cache_size: See ``RemoteBackend``.

    Raises:
        ConfigError: An option is out of range.
    """

    uses_proxy = False

    def __init__(
        self,
        *,
        url: str,
        wire: Literal["auto", "msgpack", "json"] = "auto",
        headers: Mapping[str, str] | None = None,
        concurrency: int = 64,
        retries: int = 2,
        cache_size: int = 4096,
    ) -> None:
        super().__init__(concurrency=concurrency, retries=retries, cache_size=cache_size)
        if not url.startswith(("http://", "https://")):
            raise ConfigError(f"url must begin with http:// or https://; got {url!r}.")
        if wire not in {"auto", *MEDIA_TYPES}:
            raise ConfigError(f"wire must be 'auto', 'msgpack' or 'json'; got {wire!r}.")
        self.url = url
        self.headers = dict(headers or {})
        self._wire: Wire = "json" if wire == "json" else "msgpack"
        self._settled = wire != "auto"

    async def fetch(self, query: str, topk: int) -> Sequence[Document]:
        wire = self._wire
        try:
            found = await self._post(query, topk, wire)
        except RefusedError as error:
            if self._settled or error.status not in _NOT_UNDERSTOOD:
                raise
            wire = "json"
            found = await self._post(query, topk, wire)
        self._wire, self._settled = wire, True
        return found

    async def _post(self, query: str, topk: int, wire: Wire) -> Sequence[Document]:
        headers = {"Content-Type": MEDIA_TYPES[wire], **self.headers}
        body = encode_query(query, topk, wire)
        answer = await self.request("POST", self.url, data=body, headers=headers)
        return read_documents(answer.body)

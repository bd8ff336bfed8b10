"""Counts in the text format of Prometheus (version 0.0.4)."""

from collections.abc import Iterable

from aiohttp import web
from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.registry import Collector

__all__ = ["exposed"]


class _Once(Collector):
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def exposed(families: Iterable[Metric]) -> web.Response:
    """Build the answer of ``GET /metrics``."""
    registry = CollectorRegistry()
    registry.register(_Once(families))
    text = generate_latest(registry)
    return web.Response(body=text, headers={"Content-Type": "text/plain; version=0.0.4"})

"""Searches the web by SerpApi: ``python -m gem.tools.search_engine.serp_search_server ...``."""

from typing import Any

import click

from gem.requirements import needs
from gem.tools.search_engine.serving import BackendRetriever, at_address, run

with needs("gem-tools"):
    from gem_tools.search.backend import make_backend

__all__ = ["main"]


@click.command()
@click.option("--search_url", default="https://serpapi.com/search", show_default=True)
@click.option("--serp_api_key", help="Default: $SERP_API_KEY.")
@click.option("--serp_engine", default="google", show_default=True)
@at_address
def main(*, search_url: str, serp_api_key: str | None, serp_engine: str, **options: Any) -> None:
    """Search the web by SerpApi."""
    backend = make_backend(
        {"id": "serp", "url": search_url, "api_key": serp_api_key, "engine": serp_engine}
    )
    run(BackendRetriever(backend), **options)


if __name__ == "__main__":
    main()

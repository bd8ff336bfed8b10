"""Searches the web by Google: ``python -m gem.tools.search_engine.google_search_server ...``."""

from typing import Any

import click

from gem.requirements import needs
from gem.tools.search_engine.serving import BackendRetriever, at_address, run

with needs("gem-tools"):
    from gem_tools.search.backend import make_backend

__all__ = ["main"]


@click.command()
@click.option("--api_key", required=True)
@click.option("--cse_id", required=True, help="Id of the custom search engine.")
@click.option("--snippet_only", is_flag=True, help="Do not read the pages that are found.")
@at_address
def main(*, api_key: str, cse_id: str, snippet_only: bool, **options: Any) -> None:
    """Search the web by Google's custom search."""
    backend = make_backend(
        {"id": "google", "api_key": api_key, "cse_id": cse_id, "snippet_only": snippet_only}
    )
    run(BackendRetriever(backend), **options)


if __name__ == "__main__":
    main()

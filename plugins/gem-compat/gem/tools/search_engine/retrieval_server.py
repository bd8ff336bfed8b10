"""Searches a corpus: ``python -m gem.tools.search_engine.retrieval_server --corpus_path ...``.

``gem-core serve-search`` is the same with more options.
"""

from typing import Any

import click

from gem.requirements import needs
from gem.tools.search_engine.serving import at_address, run

with needs("gem-tools"):
    from gem_tools.search.index import IndexOptions, open_retriever

__all__ = ["main"]


@click.command()
@click.option("--index_path", help="Saved index, or where to save it.")
@click.option("--corpus_path", help="JSON lines with contents.")
@click.option("--retriever_name", default="e5", show_default=True, help="bm25, e5, bge, ...")
@click.option("--retriever_model", default="intfloat/e5-base-v2", show_default=True)
@click.option("--faiss_gpu", is_flag=True, hidden=True)  # faiss runs on the CPU here
@at_address
def main(
    *,
    index_path: str | None,
    corpus_path: str | None,
    retriever_name: str,
    retriever_model: str,
    faiss_gpu: bool,
    **options: Any,
) -> None:
    """Search a corpus, by words or by vectors."""
    kind = IndexOptions(kind="bm25")
    if retriever_name != "bm25":
        kind = IndexOptions(kind="dense", model=retriever_model)
    run(open_retriever(corpus_path, kind, index_path=index_path), **options)


if __name__ == "__main__":
    main()

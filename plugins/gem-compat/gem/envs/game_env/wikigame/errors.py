"""WikiGame, which gem-core does not have yet."""

from gem.requirements import absent

__getattr__ = absent(
    __name__,
    ["DisambiguationException", "QueryPageNotFoundException", "BackendFailureException"],
    "WikiGame",
)

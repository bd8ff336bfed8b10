"""Exact match of short answers, by gem-qa."""

from gem.requirements import needs

with needs("gem-qa"):
    from gem_qa.scoring import exact_match
    from gem_qa.scoring import normalize_answer as _normalize

__all__ = ["em_check", "normalize_answer"]


def normalize_answer(s: str) -> str:
    """Return text in lower case, without punctuation and articles, single-spaced."""
    return _normalize(s)


def em_check(prediction: str, golden_answers: str | list[str]) -> bool:
    """Return whether a prediction matches one of the golden answers."""
    golds = [golden_answers] if isinstance(golden_answers, str) else golden_answers
    return exact_match(prediction, golds, "squad")

"""The problems of ``code:Sample``, by topic."""

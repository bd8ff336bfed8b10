"""Mathematics for gem-core: the ids are in ``plugin.py``, the grader in ``grading``."""

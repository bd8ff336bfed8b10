"""Programming problems for gem-core, judged by tests: the ids are in ``plugin.py``."""

"""Question answering and rule reasoning for gem-core: the ids are in ``plugin.py``."""

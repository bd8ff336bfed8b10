"""Models as agents in gem-core: the ids are in ``plugin.py``."""

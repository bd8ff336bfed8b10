"""Tasks in a terminal for gem-core: the ids are in ``plugin.py``."""

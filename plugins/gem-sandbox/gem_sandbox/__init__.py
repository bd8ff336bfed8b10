"""Sandboxes for gem-core: the ids are in ``plugin.py``."""

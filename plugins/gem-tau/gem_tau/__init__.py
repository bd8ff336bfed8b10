"""Dialogues over a database for gem-core: the ids are in ``plugin.py``."""

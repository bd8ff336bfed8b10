"""Games for gem-core. A game is one file here and one entry in ``plugin.py``."""

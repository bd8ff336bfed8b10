"""The difficulty of levels; see ``suite.py``."""

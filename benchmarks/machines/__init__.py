"""Local machines; see ``suite.py``."""

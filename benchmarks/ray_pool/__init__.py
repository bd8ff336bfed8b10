"""Ray actors; see ``suite.py``."""

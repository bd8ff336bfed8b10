"""Software engineering; see ``suite.py``."""

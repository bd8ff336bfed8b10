"""How hard the levels of games are; see ``suite.py``."""

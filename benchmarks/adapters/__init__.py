"""The CPU time of adapters for trainers; see ``suite.py``."""

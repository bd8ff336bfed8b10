"""The CPU time of the gateway for agent programs; see ``suite.py``."""

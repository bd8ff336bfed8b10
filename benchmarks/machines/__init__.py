"""Machines, beside containers of Docker; see ``suite.py``."""

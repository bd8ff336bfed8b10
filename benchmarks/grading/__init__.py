"""Errors of graders on labelled pairs; see ``suite.py``."""

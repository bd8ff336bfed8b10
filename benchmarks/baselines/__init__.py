"""Baselines of the suite ``baselines``: see ``run.py``."""

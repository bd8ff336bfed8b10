"""Learning curves: see ``run.py``."""

"""Engines that play many episodes against an endpoint; see ``suite.py``."""

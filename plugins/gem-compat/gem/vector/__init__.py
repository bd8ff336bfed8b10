"""Vectors of environments."""

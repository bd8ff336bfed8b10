"""Hydra configuration files."""

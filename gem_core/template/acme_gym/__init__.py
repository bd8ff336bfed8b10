"""Environments for gem-core."""

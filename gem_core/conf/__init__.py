"""Configurations of gem-core's own commands."""

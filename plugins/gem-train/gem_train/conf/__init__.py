"""Configurations of the commands."""

__all__: list[str] = []

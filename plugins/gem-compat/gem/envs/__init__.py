"""Environments, at the paths of gem-llm."""

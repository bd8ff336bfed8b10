"""Wrappers, at the paths of gem-llm."""

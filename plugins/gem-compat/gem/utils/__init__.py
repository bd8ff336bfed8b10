"""Utilities of gem-llm's environments and tools."""

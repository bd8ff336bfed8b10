"""Wrappers, each where gem-llm has it."""

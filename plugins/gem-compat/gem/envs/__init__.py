"""Environments, each where gem-llm has it."""

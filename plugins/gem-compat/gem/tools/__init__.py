"""Tools, each where gem-llm has it."""

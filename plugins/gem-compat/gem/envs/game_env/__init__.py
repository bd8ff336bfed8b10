"""The games of gem-games, with the constructors, resets and flags of gem-llm."""

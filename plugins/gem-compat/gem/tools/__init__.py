"""Tools, at the paths of gem-llm."""

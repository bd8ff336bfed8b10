"""The version of gem-llm whose API this is."""

__version__ = "0.1.0"

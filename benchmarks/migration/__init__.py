"""One script with gem-compat and with gem-llm; see ``suite.py``."""

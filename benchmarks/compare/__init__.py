"""gem-core and gem-llm measured alternately; see ``suite.py``."""

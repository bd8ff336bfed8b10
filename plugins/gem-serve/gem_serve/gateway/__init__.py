"""A gateway between agent programs and an engine: it records the tokens of every call."""

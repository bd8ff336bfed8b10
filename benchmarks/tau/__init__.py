"""Dialogues over a database: import, episodes, resets, digests, memory."""

"""Reinforcement learning of language models on the episodes of gem-core."""

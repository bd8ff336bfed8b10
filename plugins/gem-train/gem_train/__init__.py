"""Reinforcement learning of language models on gem-core's environments."""

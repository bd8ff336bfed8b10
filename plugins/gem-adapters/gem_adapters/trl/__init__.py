"""Adapters for TRL: a rollout function, environments for its tool loop, and a reward function."""

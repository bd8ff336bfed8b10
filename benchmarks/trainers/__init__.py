"""Trainers that do the same steps of GRPO: gem-train, and peers. See ``grpo.py``."""

"""Evaluation: run models over environments, compare runs, grade again, look at episodes."""

__all__: list[str] = []

"""The Hydra configurations of the commands."""

__all__: list[str] = []

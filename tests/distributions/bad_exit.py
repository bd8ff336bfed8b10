"""A plugin that wants to end the program."""

import sys

__all__: list[str] = []

sys.exit("no licence key")

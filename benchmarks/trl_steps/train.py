"""Trains with one library under its own interpreter: arguments are its module and the setting."""

import sys
from importlib import import_module

from trl_steps.setting import Clock, Setting


def main() -> None:
    """Train until all steps are done."""
    clock = Clock()
    import_module(f"trl_steps.{sys.argv[1]}").train(Setting.from_json(sys.argv[2]), clock)

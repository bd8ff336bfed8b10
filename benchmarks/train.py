"""Lets a trainer train, under its own interpreter: ``train.py TRAINER SETTING``."""

import sys
from importlib import import_module

from trainers.setting import Clock, Setting

if __name__ == "__main__":
    _clock = Clock()
    import_module(f"trainers.{sys.argv[1]}").train(Setting.from_json(sys.argv[2]), _clock)

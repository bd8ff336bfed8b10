"""A plugin whose environment prints, also below Python, from other programs and at the exit."""

import atexit
import ctypes
import os
import subprocess

from gem_core import BaseEnv, EnvSpec, Step, hookimpl
from gem_core.errors import GemError


def say(what):
    print(f"noisy: {what}")
    os.write(1, f"noisy: {what} below Python\n".encode())


class NoisyEnv(BaseEnv):
    """An environment that says what it does."""

    def __init__(self, *, breaks=False, until_exit=False):
        say("made")
        subprocess.run(["echo", "noisy: another program"], check=True)
        ctypes.CDLL(None).printf(b"noisy: a buffer of C\n")
        if until_exit:
            atexit.register(say, "exit")
        if breaks:
            raise GemError("It cannot be made.")

    def start(self):
        say("reset")
        return "Say a word.", {}

    def step(self, action):
        say("step")
        return Step("Well said.", 1.0, True, False, {"correct": True})

    def sample_random_action(self):
        return "word"

    def close(self):
        say("closed")


@hookimpl
def gem_register(registry):
    registry.add(EnvSpec(id="noisy:Env", entry_point="noisy:NoisyEnv"))
    kwargs = {"breaks": True}
    registry.add(EnvSpec(id="noisy:Broken", entry_point="noisy:NoisyEnv", kwargs=kwargs))

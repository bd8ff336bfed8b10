"""A plugin whose environment prints, also below Python and from other programs."""

import os
import subprocess

from gem_core import BaseEnv, EnvSpec, Step, hookimpl


def say(what):
    print(f"noisy: {what}")
    os.write(1, f"noisy: {what} below Python\n".encode())


class NoisyEnv(BaseEnv):
    """An environment that says what it does."""

    def __init__(self):
        say("made")
        subprocess.run(["echo", "noisy: another program"], check=True)

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

"""Prints the path of the agent loop's YAML, for a command line of verl."""

from gem_adapters.verl import agent_loop_config

print(agent_loop_config())  # noqa: T201 - the output of the command

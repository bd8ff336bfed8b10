"""The tasks of reasoning-gym for gem-core.

``catalog`` names the tasks, so that listing them imports nothing; ``env`` is the environment;
``datasets`` asks the workers, which run ``worker``. Only they import reasoning_gym.
"""

"""The tasks of reasoning-gym for gem-core.

``catalog`` lists the tasks without importing them, ``env`` is the environment, and ``datasets``
calls ``worker`` in worker processes. Only the workers import reasoning_gym.
"""

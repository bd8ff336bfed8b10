"""Steps of GRPO beside TRL; see ``suite.py``."""

"""Lets the tests, and the actors that get their ``sys.path``, find ``cluster_functions``."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))

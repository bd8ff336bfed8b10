# The program leaves.
import sys

sys.exit(0)

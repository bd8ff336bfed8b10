# The program exits.
import os

os._exit(0)

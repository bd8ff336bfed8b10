# Tries: to close all descriptors, and keep running.
# Success: the deadline is missed.
import os

os.closerange(0, 1024)
while True:
    pass

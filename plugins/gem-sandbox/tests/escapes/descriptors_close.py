# Tries: to close everything, and to stay.
# Success: the deadline is not kept.
import os

os.closerange(0, 1024)
while True:
    pass

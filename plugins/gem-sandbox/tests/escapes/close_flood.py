# Tries: to leave a child that writes without end.
# Success: the run does not end, or its output comes in the next one.
import os

if os.fork() == 0:
    os.setsid()
    while True:
        os.write(1, b"flood\n")

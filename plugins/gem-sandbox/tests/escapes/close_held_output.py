# Tries: to leave a child that keeps the output open.
# Success: the run does not end, or the child survives.
import os
import time

if os.fork() == 0:
    os.setsid()
    time.sleep(100)
print("done")

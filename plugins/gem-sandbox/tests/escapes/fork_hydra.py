# Tries: to start a new process for every one that is killed.
# Success: processes survive.
import os
import time

if os.fork() == 0:
    os.setsid()
    while True:
        try:
            if os.fork():
                os._exit(0)
            os.setsid()
        except OSError:
            pass
time.sleep(0.2)

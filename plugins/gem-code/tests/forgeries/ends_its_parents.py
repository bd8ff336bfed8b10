# The program ends its parents.
import os, signal

for pid in (os.getppid(), -1, 0):
    try:
        os.kill(pid, 9)
    except OSError:
        pass
os._exit(0)

# Tries: to use the open files of its ancestors.
# Success: one can be opened.
import os

import host

for pid in {1, os.getppid(), host.PARENT} - {os.getpid(), 0}:
    for number in range(64):
        try:
            descriptor = os.open(f"/proc/{pid}/fd/{number}", os.O_RDWR | os.O_NONBLOCK)
            host.escaped(f"{pid}/fd/{number}: {os.readlink(f'/proc/{pid}/fd/{number}')}")
            os.write(descriptor, b"garbage")
        except OSError:
            pass

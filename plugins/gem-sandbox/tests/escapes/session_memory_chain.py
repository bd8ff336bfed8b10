# Tries: to grow in an idle session from one process to the next: each holds more than the one before.
# Success: the last one holds three times the limit.
# Runs: session
import os
import time

import host

if os.fork() == 0:
    held = b""
    while True:
        held += b"x" * (8 << 20)
        with open("held", "w") as file:
            file.write(str(len(held)))
        try:
            if os.fork():
                os._exit(0)
        except OSError:
            pass
time.sleep(0.02)
# idle
import os

import host

if os.path.exists("held"):
    size = int(open("held").read() or 0)
    if size > 3 * host.MEMORY:
        host.escaped(f"{size >> 20} MiB")

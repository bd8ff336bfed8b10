# Tries: to be continued in an idle session by the end of a child (clone with SIGCONT).
# Success: its processes go on between the runs of the session.
# Runs: session
import os
import time

import host


def stamp():
    with open("stamps", "a") as file:
        file.write(f"{time.monotonic()}\n")


CLONE = 56
if os.fork() == 0:
    while True:
        stamp()
        if host.syscall(CLONE, 18, 0, 0, 0, 0) == 0:
            stop = time.monotonic() + 0.05
            while time.monotonic() < stop:
                pass
            os._exit(0)
time.sleep(0.1)
# idle
import os
import time

import host

stamps = [float(line) for line in open("stamps")] if os.path.exists("stamps") else [0.0]
stamps.append(time.monotonic())
longest = max(after - before for before, after in zip(stamps, stamps[1:]))
if longest < host.IDLE / 2:
    host.escaped(f"it paused for {longest} s at most")

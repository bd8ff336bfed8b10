# Tries: to continue its processes in an idle session whenever they are stopped.
# Success: its processes go on between the runs of the session.
# Runs: session
import os
import time

import host


def stamp():
    with open("stamps", "a") as file:
        file.write(f"{time.monotonic()}\n")


import signal

for _ in range(4):
    if os.fork() == 0:
        os.setsid()
        while True:
            for _ in range(100):
                try:
                    os.kill(-1, signal.SIGCONT)
                except OSError:
                    pass
            stamp()
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

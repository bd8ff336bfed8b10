# Tries: to go on in an idle session while it waits for children that share its memory.
# Success: its processes go on between the runs of the session.
# Runs: session
import os
import time

import host


def stamp():
    with open("stamps", "a") as file:
        file.write(f"{time.monotonic()}\n")


import subprocess
import sys
import threading


def go_on():
    while True:
        stamp()
        try:
            subprocess.run([sys.executable, "-I", "-S", "-c", "pass"])
        except OSError:
            time.sleep(0.001)


for _ in range(3):
    threading.Thread(target=go_on, daemon=True).start()
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

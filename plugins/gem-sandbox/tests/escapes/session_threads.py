# Tries: to go on in an idle session as a thread whose process seems dead.
# Success: its processes go on between the runs of the session.
# Runs: session
import os
import time

import host


def stamp():
    with open("stamps", "a") as file:
        file.write(f"{time.monotonic()}\n")


import ctypes
import threading


def go_on():
    while True:
        stamp()
        time.sleep(0.001)


for _ in range(2):
    if os.fork() == 0:
        threading.Thread(target=go_on, daemon=True).start()
        ctypes.CDLL(None).syscall(60, 0)  # only this thread ends
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

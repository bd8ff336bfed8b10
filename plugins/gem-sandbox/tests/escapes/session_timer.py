# Tries: to be continued in an idle session by a timer that sends SIGCONT.
# Success: its processes go on between the runs of the session.
# Runs: session
import os
import time

import host


def stamp():
    with open("stamps", "a") as file:
        file.write(f"{time.monotonic()}\n")


import ctypes
import signal
import struct

CREATE, SETTIME = 222, 223
signal.signal(signal.SIGCONT, lambda *_: stamp())
if os.fork() == 0:
    event = struct.pack("Qiii44x", 0, int(signal.SIGCONT), 0, 0)
    timer = ctypes.create_string_buffer(8)
    host.syscall(CREATE, 1, event, timer)
    interval = struct.pack("4q", 0, 1_000_000, 0, 1_000_000)
    host.syscall(SETTIME, int.from_bytes(timer.raw[:4], "little"), 0, interval, None)
    while True:
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

# Tries: to be woken in an idle session by alarms and by signals that it handles.
# Success: its processes go on between the runs of the session.
# Runs: session
import os
import time

import host


def stamp():
    with open("stamps", "a") as file:
        file.write(f"{time.monotonic()}\n")


import signal

if os.fork() == 0:
    for number in (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    for number in (signal.SIGALRM, signal.SIGCONT, signal.SIGCHLD, signal.SIGPROF):
        signal.signal(number, lambda *_: stamp())
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    while True:
        time.sleep(0.001)
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

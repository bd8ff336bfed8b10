# Tries: to leave processes that the next run can signal, in every way to be missed.
# Success: a later run finds one.
# Runs: twice
import os
import signal
import time

import host

mine = {os.getpid(), os.getppid(), 1}
for pid in range(2, 200):
    if pid not in mine:
        try:
            os.kill(pid, 0)
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                file.read()
            host.escaped(f"process {pid} of a former run")
        except OSError:
            pass
for number in range(4):
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for _ in range(number):
            if os.fork():
                os._exit(0)
            os.setsid()
        if number == 3:
            os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(100)
time.sleep(0.05)

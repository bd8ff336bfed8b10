# Tries: to be notified by signals of what happens in folders (dnotify), and to choose the signal.
# Success: a signal is arranged.
import fcntl
import os
import signal

import host

F_SETSIG, F_NOTIFY = 10, 1026
for path in (host.LIBRARIES[-1], "/", "/tmp", os.getcwd()):
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        continue
    for command, value in ((F_SETSIG, signal.SIGCONT), (F_NOTIFY, 0x8000003F)):
        try:
            fcntl.fcntl(descriptor, command, value)
            host.escaped(f"command {command} on {path}")
        except OSError:
            pass

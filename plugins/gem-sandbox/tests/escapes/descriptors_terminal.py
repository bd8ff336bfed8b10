# Tries: to type into the host's terminal (TIOCSTI).
# Success: the call succeeds.
import fcntl
import os

import host

for path in ("/dev/tty", "/dev/console", "/dev/pts/0", "/dev/tty1", "/proc/self/fd/0"):
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOCTTY)
        fcntl.ioctl(descriptor, 0x5412, b"x")
        host.escaped(path)
    except OSError:
        pass

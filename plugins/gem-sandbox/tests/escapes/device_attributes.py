# Tries: to store extended attributes and hints on devices and libraries.
# Success: a call succeeds on a file of the host, or a later run finds them.
# Runs: twice
import fcntl
import os
import struct

import host

F_GET_RW_HINT, F_SET_RW_HINT = 1035, 1036
for path in (*host.DEVICES, *host.LIBRARIES):
    for name in ("user.mark", "security.mark", "trusted.mark"):
        try:
            os.setxattr(path, name, b"x")
            host.escaped(f"{name} on {path}")
        except OSError:
            pass
    try:
        descriptor = os.open(path, os.O_RDONLY)
        fcntl.fcntl(descriptor, F_SET_RW_HINT, struct.pack("Q", 4))
        found = fcntl.fcntl(descriptor, F_GET_RW_HINT, bytes(8))
        if host.is_shared(path) and found == struct.pack("Q", 4):
            host.escaped(f"a hint on {path}")
    except OSError:
        pass

# Tries: to connect to a socket in the host's file system.
# Success: the connection arrives.
import socket

import host

for path in (
    host.UNIX_SOCKET,
    "/proc/1/root" + host.UNIX_SOCKET,
    f"/proc/{host.PARENT}/root{host.UNIX_SOCKET}",
):
    try:
        socket.socket(socket.AF_UNIX).connect(path)
    except OSError:
        pass

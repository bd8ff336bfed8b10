# Tries: to open raw and packet sockets, and to see the host's interfaces.
# Success: one can be opened, or an interface is seen.
import socket

import host

for family, kind, protocol in (
    (socket.AF_PACKET, socket.SOCK_RAW, 3),
    (socket.AF_INET, socket.SOCK_RAW, 1),
    (socket.AF_INET6, socket.SOCK_RAW, 58),
    (31, socket.SOCK_RAW, 1),
    (29, socket.SOCK_RAW, 1),
):
    try:
        socket.socket(family, kind, protocol)
        host.escaped(f"family {family}")
    except OSError:
        pass
others = [name for _, name in socket.if_nameindex() if name in host.INTERFACES]
if others:
    host.escaped(str(others))

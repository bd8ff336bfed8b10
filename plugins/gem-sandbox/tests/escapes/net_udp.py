# Tries: to send a datagram to the host.
# Success: it arrives.
import socket

import host

for address in host.ADDRESSES:
    try:
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"out", (address, host.UDP_PORT))
    except OSError:
        pass

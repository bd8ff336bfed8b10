# Tries: to use kernel memory, in pipes and sockets.
# Success: the next run is affected.
import fcntl
import os
import socket

kept = []
while True:
    try:
        read, write = os.pipe()
        fcntl.fcntl(write, 1031, 1 << 20)
        os.set_blocking(write, False)
        os.write(write, b"x" * (1 << 20))
    except OSError:
        break
try:
    while True:
        pair = socket.socketpair()
        pair[0].setblocking(False)
        kept.append(pair)
        while pair[0].send(b"x" * 65536):
            pass
except OSError:
    pass

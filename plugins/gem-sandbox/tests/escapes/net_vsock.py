# Tries: to reach the machine's hypervisor: vsock ignores network namespaces.
# Success: a service answers.
import errno
import socket

import host

for context in (1, 2):
    try:
        connection = socket.socket(40, socket.SOCK_STREAM)
        connection.settimeout(0.1)
        connection.connect((context, 1024))
        host.escaped(f"context {context}")
    except OSError as error:
        if error.errno == errno.ECONNRESET:
            host.escaped(f"context {context} refuses")

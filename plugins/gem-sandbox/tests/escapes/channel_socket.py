# Tries: to leave a server with an abstract address for the next run.
# Success: a later run reaches it.
# Runs: twice
import os
import socket
import time

import host

ADDRESS = "\0gem-former-run"
try:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.connect(ADDRESS)
        host.escaped("a former run answers")
except OSError:
    pass
try:
    server = socket.socket(socket.AF_UNIX)
    server.bind(ADDRESS)
    server.listen()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(100)
        os._exit(0)
except OSError:
    pass

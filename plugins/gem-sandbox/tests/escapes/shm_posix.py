# Tries: to leave shared memory for later runs and the host.
# Success: it is there in the next run, or on the host.
# Runs: twice
import os
from multiprocessing import shared_memory

import host

names = ("/dev/shm/gem-escape", "/tmp/gem-escape", "/var/tmp/gem-escape")
for path in names:
    if os.path.exists(path):
        host.escaped(path)
    try:
        open(path, "w").write("x")
    except OSError:
        pass
try:
    shared_memory.SharedMemory("gem_escape", create=True, size=4096)
except FileExistsError:
    host.escaped("the memory of a former run")
os._exit(0)

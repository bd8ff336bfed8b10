# Tries: to swap folders and links while they are being removed.
# Success: a file of the host is gone.
import os
import time

import host

for _ in range(4):
    if os.fork() == 0:
        os.setsid()
        while True:
            try:
                os.mkdir("a")
                os.rename("a", "b")
                os.symlink(host.OUTSIDE, "a")
                os.rename("a", "c")
                os.unlink("c")
                os.rmdir("b")
            except OSError:
                pass
time.sleep(0.1)

# Tries: to leave files of every kind and name that are hard to remove.
# Success: one is there in the next run.
# Runs: twice
import os
import socket
import stat

import host

if os.path.exists("fifo"):
    host.escaped("the files of the run before are there")
os.mkfifo("fifo")
socket.socket(socket.AF_UNIX).bind("socket")
for name in (b"\xff\xfe", b"new\nline", b"-rf", b" ", b"x" * 255, b"*"):
    open(name, "w").close()
    os.chmod(name, 0)
os.mkdir("locked")
open("locked/file", "w").close()
os.chmod("locked", stat.S_ISVTX)

# Tries: to leave files for the run for the next input, with old times and through maps.
# Success: that run finds them.
# Runs: inputs
import mmap
import os

import host

if os.path.exists("left") or os.path.islink("link") or os.path.isdir("folder"):
    host.escaped("files of the run before")
if b"left behind" in open("main.py", "rb").read()[-40:]:
    host.escaped("a changed program")
os.mkdir("folder")
open("folder/left", "w").close()
open("left", "w").close()
os.symlink("left", "link")
before = os.stat("main.py")
with open("main.py", "r+b") as file:
    file.seek(0, 2)
    file.write(b"# left behind\n")
    file.flush()
    area = mmap.mmap(file.fileno(), 0)
    area[-2:] = b"d\n"
try:
    os.utime("main.py", ns=(before.st_atime_ns, before.st_mtime_ns))
except OSError:
    pass

# Tries: to leave marks on the folders that it gets: modes, times and owners.
# Success: they are there in the next run, which finds what a former run left.
# Runs: twice
import os

import host

MODE, WHEN = 0o751, 1_234_567_890
for folder in sorted({os.getcwd(), "/tmp", "/dev/shm"}):
    try:
        found = os.stat(folder)
        if found.st_mode & 0o777 == MODE or int(found.st_mtime) == WHEN:
            host.escaped(f"the marks of a former run on {folder}")
        os.utime(folder, (WHEN, WHEN))
        os.chmod(folder, MODE)
    except OSError:
        pass

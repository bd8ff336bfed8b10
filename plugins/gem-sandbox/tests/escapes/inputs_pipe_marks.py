# Tries: to leave a mode, times and flags on the pipes that the run for the next input gets.
# Success: that run sees them.
# Runs: inputs
import fcntl
import os

import host

WHEN, FLAGS = 1_234_567_890, os.O_NONBLOCK | os.O_APPEND | os.O_DIRECT
for number in (0, 1, 2):
    found = os.fstat(number)
    if found.st_mode & 0o777 == 0o751 or int(found.st_mtime) == WHEN or int(found.st_atime) == WHEN:
        host.escaped("marks of the run before")
    if fcntl.fcntl(number, fcntl.F_GETFL) & FLAGS:
        host.escaped("flags of the run before")
    for act in (
        lambda: os.fchmod(number, 0o751),
        lambda: os.utime(number, (WHEN, WHEN)),
        lambda: fcntl.fcntl(number, fcntl.F_SETFL, FLAGS),
        lambda: fcntl.fcntl(number, fcntl.F_SETFL, os.O_NONBLOCK),
    ):
        try:
            act()
        except OSError:
            pass

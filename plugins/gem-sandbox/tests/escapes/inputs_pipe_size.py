# Tries: to change the size of the pipe to which the run for the next input writes.
# Success: that run sees it.
# Runs: inputs
import fcntl

import host

GET, SET = 1032, 1031
for number in (1, 2):
    if fcntl.fcntl(number, GET) == 4096:
        host.escaped("the size that the run before has set")
    try:
        fcntl.fcntl(number, SET, 4096)
    except OSError:
        pass

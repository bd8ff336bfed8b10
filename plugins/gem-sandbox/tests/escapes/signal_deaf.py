# Tries: to ignore every signal past the deadline, in many ways.
# Success: the deadline is missed.
import os
import signal
import time

signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
for number in range(1, 65):
    try:
        signal.signal(number, lambda *_: None)
    except (OSError, ValueError):
        pass
if os.fork() == 0:
    os.setsid()
while True:
    try:
        time.sleep(100)
    except BaseException:
        pass

# Tries: to stand still: stopped processes take no signal but one.
# Success: the deadline is not kept, or processes stay.
import os
import signal

for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        os.kill(os.getpid(), signal.SIGSTOP)
os.kill(os.getpid(), signal.SIGSTOP)

# Tries: to be stopped: stopped processes receive no signal but SIGKILL.
# Success: the deadline is missed, or processes survive.
import os
import signal

for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        os.kill(os.getpid(), signal.SIGSTOP)
os.kill(os.getpid(), signal.SIGSTOP)

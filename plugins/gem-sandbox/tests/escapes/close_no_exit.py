# Tries: to replace the functions that end the interpreter.
# Success: the run does not end.
import os
import sys
import time

os._exit = lambda status: time.sleep(100)
sys.exit = os._exit
sys.stdout.flush = sys.stderr.flush = lambda: time.sleep(100)

# Tries: to hang when the interpreter ends.
# Success: the deadline is missed.
import atexit
import threading
import time


class Stay:
    def __del__(self):
        time.sleep(100)


stay = Stay()
atexit.register(time.sleep, 100)
threading.Thread(target=time.sleep, args=(100,)).start()

# Tries: to start threads for ever.
# Success: the next run is harmed.
import threading
import time

while True:
    try:
        threading.Thread(target=time.sleep, args=(100,)).start()
    except RuntimeError:
        pass

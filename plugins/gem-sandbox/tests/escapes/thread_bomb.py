# Tries: to start threads endlessly.
# Success: the next run is affected.
import threading
import time

while True:
    try:
        threading.Thread(target=time.sleep, args=(100,)).start()
    except RuntimeError:
        pass

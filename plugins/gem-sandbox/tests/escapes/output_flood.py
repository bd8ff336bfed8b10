# Tries: to make the host store endless output.
# Success: the next run is affected.
import os
import threading

for stream in (1, 2):

    def flood(stream=stream):
        while True:
            os.write(stream, b"x" * (1 << 20))

    threading.Thread(target=flood).start()

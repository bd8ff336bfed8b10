# Tries: to replace itself by new programs endlessly.
# Success: processes survive.
import os
import sys

script = "import os, sys; os.fork(); os.execv(sys.executable, [sys.executable, '-I', '-S', '-c', sys.argv[1], sys.argv[1]])"
os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", script, script])

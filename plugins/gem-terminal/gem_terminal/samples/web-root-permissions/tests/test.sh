#!/bin/bash
mkdir -p /logs/verifier
if python3 -I - <<'END'
import hashlib, os, stat
expected = {
    ".": "755", "css": "755", "cgi-bin": "755", "private": "700", "private/deep": "755", "uploads": "1777",
    "uploads/2025": "755", "index.html": "644", "css/site.css": "644", "css/old.cgi": "644",
    "cgi-bin/hit.cgi": "755", "cgi-bin/README": "644", "private/keys.txt": "600",
    "private/deep/more.cgi": "600", "uploads/a b.txt": "644", "uploads/2025/c.txt": "644",
}
os.chdir("/app/www")
found = {"."}
for parent, folders, names in os.walk("."):
    found |= {os.path.normpath(os.path.join(parent, name)) for name in folders + names}
assert found == set(expected), found
for path, mode in expected.items():
    info = os.lstat(path)
    assert not stat.S_ISLNK(info.st_mode), path
    assert stat.S_IMODE(info.st_mode) == int(mode, 8), path
texts = b"".join(open(path, "rb").read() for path in sorted(expected) if os.path.isfile(path))
assert hashlib.sha256(texts).hexdigest() == "fbabe68d6daae115a881582dec9dafe0d5b52932a0984b2af2fb82cada5f3932"
END
then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi

#!/bin/bash
mkdir -p /logs/verifier
if python3 -I - <<'END'
import os
os.chdir("/app/site")
assert os.path.normpath(os.readlink("current")) == "releases/1.10.2"
assert os.path.normpath(os.readlink("previous")) == "releases/1.2.0"
assert os.path.isfile("releases/1.9.0/home.html") and os.path.islink("releases/1.9.0/home.html")
assert sorted(os.listdir("releases")) == ["1.10.0", "1.10.2", "1.11.0", "1.2.0", "1.9.0"]
assert all(os.path.isfile(f"releases/{name}/index.html") for name in os.listdir("releases"))
for parent, folders, names in os.walk("."):
    for name in folders + names:
        assert os.path.exists(os.path.join(parent, name)), (parent, name)
assert not os.path.lexists("stable")
END
then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi

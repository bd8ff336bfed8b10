#!/bin/bash
mkdir -p /logs/verifier
if python3 -I - <<'END'
import hashlib, os, subprocess, time, urllib.request
def nobody():
    # A program of the agent must not reach the reward. Some machines have one user only.
    try:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    except OSError:
        pass
digest = hashlib.sha256(open("/app/server.py", "rb").read()).hexdigest()
assert digest == "f5ad975ef0ceb65213f4d98e0ee0e3d91e313d688316214eea9b3c0c12abde97"
subprocess.run(["chown", "-Rh", "65534:65534", "/app"])
subprocess.run(["bash", "/app/start-all.sh"], preexec_fn=nobody, stdin=subprocess.DEVNULL, check=True, timeout=20)
for name, port in [("catalog", 8101), ("orders", 8102), ("users", 8103)]:
    for attempt in range(100):
        try:
            answer = urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5).read()
            break
        except OSError:
            assert attempt < 50, name
            time.sleep(0.1)
    assert answer.decode().strip() == name, answer
settings = dict(line.strip().split("=", 1) for line in open("/app/services/orders.conf") if "=" in line)
assert settings["CATALOG_URL"].strip("'\"").rstrip("/") == "http://127.0.0.1:8101", settings
assert settings["USERS_URL"].strip("'\"").rstrip("/") == "http://127.0.0.1:8103", settings
END
then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi

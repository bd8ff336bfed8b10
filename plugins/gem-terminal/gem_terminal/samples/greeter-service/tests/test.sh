#!/bin/bash
mkdir -p /logs/verifier
if python3 -I - <<'END'
import json, os, subprocess, time, urllib.error, urllib.request
def nobody():
    # A program of the agent must not reach the reward. Some machines have one user only.
    try:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    except OSError:
        pass
with open("/app/config/service.json") as file:
    config = json.load(file)
assert config["greeting"] == "Hello"
config["greeting"] = "Good day"
with open("/app/config/service.json", "w") as file:
    json.dump(config, file)
subprocess.run(["chown", "-Rh", "65534:65534", "/app"])
subprocess.run(["bash", "/app/run.sh"], preexec_fn=nobody, stdin=subprocess.DEVNULL, check=True, timeout=20)
def get(path):
    for attempt in range(100):
        try:
            return urllib.request.urlopen("http://127.0.0.1:8080" + path, timeout=5).read().decode().strip()
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            assert attempt < 50
            time.sleep(0.1)
assert get("/greet?name=Ada") == "Good day, Ada!"
assert get("/greet") == "Good day, world!"
assert get("/other") == 404
END
then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi

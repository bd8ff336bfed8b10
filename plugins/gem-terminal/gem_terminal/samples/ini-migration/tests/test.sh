#!/bin/bash
mkdir -p /logs/verifier
if python3 -I - <<'END'
expected = {
    "web.ini": "[listen]\naddress = 0.0.0.0\nport = 80\ntimeout = 30\n[log]\nseverity = WARNING\nfile = /var/log/web.log\n",
    "api.ini": "[listen]\nport = 8080\naddress = 127.0.0.1\ntimeout = 30\n[log]\nseverity = ERROR\n",
    "jobs.ini": "[log]\nfile = /var/log/jobs.log\nseverity = INFO\n",
    "edge.ini": "[listen]\ntimeout = 5\naddress = ::1\nport = 90\n[paths]\nlevel = low=1\n",
}
for name, text in expected.items():
    assert open("/app/new/" + name).read().rstrip("\n") == text.rstrip("\n"), name
END
then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi

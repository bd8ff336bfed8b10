#!/bin/bash
mkdir -p /logs/verifier
if python3 -I - <<'END'
import hashlib, os
expected = {
    "sh": "nine", "rf": "one", "hidden": "six", "hidden_2": "eight", "my_report_final_.txt": "two",
    "my_report_final__2.txt": "three", "my_report_final__3.txt": "four", "caf_.txt": "seven",
    "new_line.txt": "five",
}
assert sorted(os.listdir("/app/clean")) == sorted(expected), os.listdir("/app/clean")
for name, text in expected.items():
    assert open("/app/clean/" + name).read() == text + "\n", name
lines = [f"{name}\t{hashlib.sha256((expected[name] + chr(10)).encode()).hexdigest()}" for name in sorted(expected)]
assert open("/app/names.tsv").read().splitlines() == lines
END
then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi

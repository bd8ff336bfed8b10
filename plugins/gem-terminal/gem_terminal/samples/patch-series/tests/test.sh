#!/bin/bash
mkdir -p /logs/verifier
if python3 -I - <<'END'
import hashlib, os, re
new = open("/app/book.txt").read()
assert hashlib.sha256(new.encode()).hexdigest() == "eb76f27ea3472d3b9ee02e8bb7455efa062517601fe4c4e24eb405467a288f68"
old = open("/app/book.orig").read()
assert hashlib.sha256(old.encode()).hexdigest() == "a759e9e3da8bb6cede246539f3e3c13d0d74da6df89f7f718c206b30140c164b"
assert sorted(os.listdir("/app")) == ["book.orig", "book.txt", "patches", "total.patch"]
lines = open("/app/total.patch").read().splitlines()
start = next(number for number, line in enumerate(lines) if line.startswith("---"))
assert lines[start].split()[1] == "a/book.txt" and lines[start + 1].split()[:2] == ["+++", "b/book.txt"]
source, result, place = old.splitlines(), [], 0
for line in lines[start + 2 :]:
    hunk = re.match(r"@@ -(\d+)", line)
    if hunk:
        result += source[place : int(hunk[1]) - 1]
        place = int(hunk[1]) - 1
    elif line[:1] in (" ", "-", ""):
        assert source[place] == line[1:], line
        result += [] if line[:1] == "-" else [line[1:]]
        place += 1
    elif line[:1] == "+":
        result.append(line[1:])
assert result + source[place:] == new.splitlines()
END
then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi

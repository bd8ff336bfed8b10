#!/bin/bash
mkdir -p /logs/verifier
if python3 -I - <<'END'
lines = open("/app/jobs.cron").read().splitlines()
assert lines[::2] == [
    "# every day at 3:30 in the morning",
    "# every 10 minutes, Monday to Friday",
    "# on the first and the fifteenth of each month, at midnight",
    "# Sundays at 22:05",
    "# every two hours, on the hour, in July and August",
]
def values(text, low, high):
    found = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        first, _, last = (f"{low}-{high}" if span == "*" else span).partition("-")
        found |= set(range(int(first), int(last or first) + 1, int(step or 1)))
    assert found <= set(range(low, high + 1)), text
    return found
limits = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 6)]
expected = [
    ("30 3 * * *", "/app/bin/backup"),
    ("*/10 * * * 1-5", "/app/bin/poll"),
    ("0 0 1,15 * *", "/app/bin/invoice"),
    ("5 22 * * 0", "/app/bin/report --weekly"),
    ("0 */2 * 7,8 *", "/app/bin/cool"),
]
assert len(lines) == 10
for line, (schedule, command) in zip(lines[1::2], expected):
    *fields, found = line.split(None, 5)
    assert found == command, line
    for field, right, limit in zip(fields, schedule.split(), limits):
        assert values(field, *limit) == values(right, *limit), line
END
then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi

#!/bin/bash
set -e
python3 - <<'END'
import csv
rows = []
for line in open("/app/members.txt"):
    if line.strip() and not line.startswith("--"):
        name, number, fee, joined = (cell.strip() for cell in line.split("|"))
        day, month, year = map(int, joined.split("."))
        fee = fee.replace(".", "").replace(",", ".")
        rows.append([int(number), name, f"{year}-{month:02}-{day:02}", fee])
with open("/app/members.csv", "w", newline="") as file:
    csv.writer(file).writerows([["number", "name", "joined", "fee"], *sorted(rows)])
END

#!/bin/bash
mkdir -p /logs/verifier
if python3 -I - <<'END'
import csv
with open("/app/members.csv", newline="", encoding="utf-8") as file:
    rows = list(csv.reader(file))
assert rows == [
    ["number", "name", "joined", "fee"],
    ["4", "Bo Lopez", "2019-12-21", "1250.50"],
    ["5", "Zoe Weber", "2023-02-28", "7.05"],
    ["9", "Moreau, Ines, Dr.", "2020-11-30", "99.90"],
    ["31", "Dahl, Ada", "2021-03-07", "12.50"],
    ["57", 'Sam "Slim" Quinn', "2018-10-09", "10000.00"],
    ["120", "Chen Farah", "2024-01-01", "0.00"],
], rows
END
then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
